/** Kernels of a report as a reader of the source sees them: all instantiations of a template are one. */
import type { FileReport, KernelReport } from '../report/report';

/** Instantiations merged: one entry a definition, with the launches of all. */
export function kernelsOf(report: FileReport): KernelReport[] {
  const byDefinition = new Map<string, KernelReport>();
  for (const kernel of report.kernels) {
    const { file, line, column } = kernel.nameRange;
    const key = `${file}:${line}:${column}:${kernel.name}`;
    const known = byDefinition.get(key);
    byDefinition.set(key, known === undefined ? kernel : merge(known, kernel));
  }
  return [...byDefinition.values()];
}

function merge(first: KernelReport, more: KernelReport): KernelReport {
  return {
    ...first,
    launches: [...first.launches, ...more.launches],
    skipped: [...first.skipped, ...more.skipped],
    problem: first.problem ?? more.problem,
  };
}

/** The kernel that a line (from 1) of a file belongs to: around it, or else the nearest above, or else the first. */
export function kernelAt(kernels: readonly KernelReport[], file: string, line: number): KernelReport | undefined {
  const own = kernels.filter(({ range }) => range.file === file);
  const around = own.find(({ range }) => range.line <= line && line <= range.endLine);
  const above = own.filter(({ range }) => range.line <= line).sort((a, b) => b.line - a.line);
  return around ?? above[0] ?? own[0];
}
