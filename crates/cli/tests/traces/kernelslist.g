MemcpyHtoD,0x00007f1000000000,128
kernel-1.traceg
