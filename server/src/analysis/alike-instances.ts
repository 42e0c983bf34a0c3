import { machineProgram } from '../machine/machine';
import type { Program } from '../program/program';
import { isSameProgram } from '../program/same-program';

/** Instances of a kernel that come out alike have one program, of which everything is found once. */
export class AlikeInstances {
  private readonly made: { readonly lowered: Program; readonly program: Program }[] = [];

  machineProgram(lowered: Program): Program {
    const alike = this.made.find((each) => isSameProgram(each.lowered, lowered));
    if (alike) return alike.program;
    const program = machineProgram(lowered);
    this.made.push({ lowered, program });
    return program;
  }
}
