// Longest matches of short DNA sequences in a long one, whose suffix tree is in a texture. One thread per query.
#include <cuda_runtime.h>

// Nodes in a row of the texture of the tree, two texels each; letters in a row of the text's.
#define NODES_IN_ROW 2048
#define LETTERS_IN_ROW 4096

// The children of a node by letter; 0, the root, where there is none.
__device__ __forceinline__ int4 children_of(cudaTextureObject_t tree, int node)
{
    return tex2D<int4>(tree, 2 * (node % NODES_IN_ROW) + 0.5f, node / NODES_IN_ROW + 0.5f);
}

// The edge to a node: first letter in the text and length; the node's suffix link, negative for leaves.
__device__ __forceinline__ int4 edge_to(cudaTextureObject_t tree, int node)
{
    return tex2D<int4>(tree, 2 * (node % NODES_IN_ROW) + 1.5f, node / NODES_IN_ROW + 0.5f);
}

__device__ __forceinline__ unsigned char letter_at(cudaTextureObject_t text, int place)
{
    return tex2D<unsigned char>(text, place % LETTERS_IN_ROW + 0.5f, place / LETTERS_IN_ROW + 0.5f);
}

__device__ __forceinline__ int child_by(int4 children, unsigned char letter)
{
    switch (letter) {
    case 'A': return children.x;
    case 'C': return children.y;
    case 'G': return children.z;
    case 'T': return children.w;
    }
    return 0;
}

// For each start in a query that leaves `least` letters: the node below which the longest match ends, and the match's
// length. From one start to the next the suffix link of the last node drops the first letter, so that no letter is
// compared twice.
extern "C" __global__ void match(cudaTextureObject_t tree, cudaTextureObject_t text, const unsigned char *queries,
                                 int2 *matches, int count, int length, int least)
{
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= count) {
        return;
    }
    const unsigned char *letters = queries + query * length;
    int2 *out = matches + query * (length - least + 1);
    int node = 0;
    int link = 0;
    // Letters from the start to `node`, and those beyond it that are known to match.
    int depth = 0;
    int known = 0;
    for (int start = 0; start + least <= length; start++) {
        int end = node;
        while (start + depth < length) {
            int child = child_by(children_of(tree, node), letters[start + depth]);
            if (child == 0) {
                break;
            }
            int4 edge = edge_to(tree, child);
            int most = min(edge.y, length - start - depth);
            int same = min(known, most);
            while (same < most && letter_at(text, edge.x + same) == letters[start + depth + same]) {
                same++;
            }
            if (same < edge.y || edge.z < 0) {
                known = same;
                end = child;
                break;
            }
            node = child;
            end = child;
            link = edge.z;
            depth += edge.y;
            known = max(known - edge.y, 0);
        }
        out[start] = make_int2(end, depth + known);
        if (depth > 0) {
            node = link;
            link = edge_to(tree, node).z;
            depth--;
        } else if (known > 0) {
            known--;
        }
    }
}
