// SPDX-License-Identifier: MIT
// Behind tile_results.cu: a block computes one tile over one part of k.
extern "C" __global__ void __launch_bounds__(kThreads) attune_product(KernelArguments product) {
  const int block = static_cast<int>(blockIdx.x), tiles = num_tiles(product);
  const int part = kIsSplit ? divided(block, tiles) : 0, number = block - part * tiles;
  const int begin = part * product.part_length;
  const int left = product.k - begin;
  const Tile tile = tile_of(product, number, left < product.part_length ? product.k : begin + product.part_length);
  float sums[kRowTiles][kColumnTiles][4] = {};
  multiply_all(product, tile, begin, sums);
  __syncthreads();
  lay_all(sums);
  put_laid_tile(product, tile, part);
  __syncthreads();
  add_parts(product, number, tile.first_row, kBlockM, tile.first_column, kBlockN,
            reinterpret_cast<unsigned*>(shared_memory()));
}
