/** A CUDA source as text: the bundler reads it in. */
declare module '*.cu' {
  const text: string;
  export default text;
}
