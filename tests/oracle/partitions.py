def cheapest_partitions(*a): raise NotImplementedError
