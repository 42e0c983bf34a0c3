/** Texture and surface references of toolkits before 12.0: their types say what a fetch gives. */
export const textures = `
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
template <class T, int D = 1, int Mode = 0> struct texture { int normalized; int filterMode; };
template <class T, int D = 1> struct surface { int unused; };
`;
