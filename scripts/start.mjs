// npm start: installs, builds, and shows what Warplens finds in the examples. Needs nothing but Node.
import { build, installPackages, requireNode, run } from './prepare.mjs';

requireNode();
for (const step of [installPackages, build]) {
  const status = step();
  if (status !== 0) process.exit(status);
}
console.log('$ warplens check examples\n');
process.exit(run(process.execPath, ['dist/cli.js', 'check', 'examples', '--fail-on', 'never']));
