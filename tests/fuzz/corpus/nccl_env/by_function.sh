export NCCL_ALGO="allreduce:nvls,tree;allgather:ring"
export NCCL_CTA_POLICY=ZERO|1
