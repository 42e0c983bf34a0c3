/**
 * Reports of texts on which a mend was tried: they are asked for again when the compiler has answered for the text that would be
 * mended, and when the data of the host leave everything as it was.
 */
import type { FileReport } from '../report/report';

/** Paddings of a few arrays of a file with several kernels. */
const KEPT = 64;

export class TriedTexts {
  private readonly reports = new Map<string, FileReport>();

  /**
   * @param what all that the report rests on
   * @param cancelled true: what was made is not whole, and not kept
   */
  of(
    what: readonly (string | undefined)[],
    cancelled: (() => boolean) | undefined,
    make: () => FileReport,
  ): FileReport {
    const key = what.join('\n');
    const known = this.reports.get(key);
    this.reports.delete(key);
    const report = known ?? make();
    if (known || !cancelled?.()) this.reports.set(key, report);
    const oldest = this.reports.keys().next().value;
    if (this.reports.size > KEPT && oldest !== undefined) this.reports.delete(oldest);
    return report;
  }
}
