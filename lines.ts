import { analyse } from '/tmp/wt4/test/unit/analysis/check-accesses';
import { readFileSync } from 'node:fs';
for (const k of analyse(readFileSync(process.argv[2],'utf8')).kernels) {
  console.log((k as any).name ?? (k as any).function, );
  const l = k.launches[0]; if (!l) continue;
  for (const a of l.accesses as any[]) console.log('   ', a.space, a.operation, a.bytesPerLane, 'own', a.line, 'charged', JSON.stringify((a.charged ?? [a]).map((c:any)=>[c.line,c.requests])), a.reason ?? '');
}
