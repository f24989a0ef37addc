vllm serve /models/llama -tp 4 --max-num-batched-tokens 8192 \
  --compilation-config '{"pass_config": {"fuse_allreduce_rms": true, "fi_allreduce_fusion_max_size_mb": 0.5}}'
