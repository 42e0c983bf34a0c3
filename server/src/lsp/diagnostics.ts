/** Findings as diagnostics, published for every file they stand in. */
import { type Diagnostic, DiagnosticSeverity, type PublishDiagnosticsParams } from 'vscode-languageserver';
import type { FileReport, Finding, Severity } from '../report/report';
import { toProtocolRange } from './positions';

const severities: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

export function diagnosticOf(finding: Finding, uriOf: (file: string) => string): Diagnostic {
  return {
    range: toProtocolRange(finding),
    severity: severities[finding.severity],
    source: 'Warplens',
    code: finding.rule,
    message: finding.message,
    relatedInformation: finding.related.map((related) => ({
      location: { uri: uriOf(related.file), range: toProtocolRange(related) },
      message: related.message,
    })),
  };
}

/** Diagnostics of one report by the URI of the file they stand in; the report's own file is always there. */
export function diagnosticsOf(report: FileReport, uriOf: (file: string) => string): Map<string, Diagnostic[]> {
  const byUri = new Map<string, Diagnostic[]>([[uriOf(report.path), []]]);
  for (const finding of report.diagnostics) {
    const uri = uriOf(finding.file);
    const list = byUri.get(uri) ?? [];
    list.push(diagnosticOf(finding, uriOf));
    byUri.set(uri, list);
  }
  return byUri;
}

/** Publishes what several units say of one header once, and takes it back when a unit says so no longer. */
export class DiagnosticsPublisher {
  private readonly units = new Map<string, Map<string, Diagnostic[]>>();

  constructor(private readonly publish: (params: PublishDiagnosticsParams) => void) {}

  /** @param unit URI of the analysed document */
  update(unit: string, version: number | undefined, diagnostics: Map<string, Diagnostic[]>): void {
    const before = this.units.get(unit);
    this.units.set(unit, diagnostics);
    for (const uri of new Set([...(before?.keys() ?? []), ...diagnostics.keys()])) {
      this.publish({ uri, version: uri === unit ? version : undefined, diagnostics: this.merged(uri) });
    }
  }

  remove(unit: string): void {
    this.update(unit, undefined, new Map([[unit, []]]));
    this.units.delete(unit);
  }

  private merged(uri: string): Diagnostic[] {
    const merged = new Map<string, Diagnostic>();
    for (const unit of this.units.values()) {
      for (const diagnostic of unit.get(uri) ?? []) {
        merged.set(JSON.stringify([diagnostic.range, diagnostic.code, diagnostic.message]), diagnostic);
      }
    }
    return [...merged.values()];
  }
}
