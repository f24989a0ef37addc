# as initialize_ub takes it
ub_cfgs = {
    "qkv_fprop": {"method": "ring_exchange", "num_sm": 1, "set_sm_margin": False},
    'proj_fprop': {'method': 'pipeline', 'num_sm': 16, 'num_splits': 4, 'use_ce': True},
}
