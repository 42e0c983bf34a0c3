/** What ends a command, or leaves out a file, in one line for the user. */

/** Wrong usage or unreadable input: exit status 2. */
export class UsageProblem extends Error {}

/** Exit statuses of the contract. */
export const exitStatus = { clean: 0, found: 1, wrongUsage: 2 } as const;
