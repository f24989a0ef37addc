export NCCL_MAX_CTAS=8
echo start
export NCCL_MAX_CTAS=16
export NCCL_MAXCTAS=4
