/** Where things lie in the memory of the host's program. */

/** Bytes that the program may use; as many behind them say what is unknown. */
export const SHADOW = 2 ** 28;
/** Pointers of the host are this plus a place in its memory: no address that an execution gives is as large (program.ts). */
export const HOST_BASE = 2 ** 50;
export const PAGE = 65536;
export const PAGES = (2 * SHADOW) / PAGE;
/** Values of a launch, eight bytes each, and their shadows, a byte each. */
export const LAUNCH_VALUES = 1024;
export const LAUNCH_SHADOWS = 40_000;
export const MOST_VALUES = 4096;
/** Memory before it is no object's. */
export const FIRST_OBJECT = PAGE;
/** How many pointers lead to what is written, seen from an address: as many or more, for lists may be gone through. */
export const DEEPEST = 3;
/** What is at an address and all that is behind it. */
export const ALL = -1;
