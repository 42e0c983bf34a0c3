/** The entry inside the extension host: runs the suite with mocha and leaves its counts in a file. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import Mocha from 'mocha';

export async function run(): Promise<void> {
  const mocha = new Mocha({
    ui: 'bdd',
    timeout: 60_000,
    color: false,
    reporter: 'spec',
    forbidOnly: true,
    failZero: true,
  });
  const suites = fs.readdirSync(__dirname).filter((file) => file.endsWith('.test.js'));
  for (const suite of suites.sort()) mocha.addFile(path.join(__dirname, suite));
  const counts = { passes: 0, failures: 0, pending: 0 };
  const failures = await new Promise<number>((resolve) => {
    const runner = mocha.run(resolve);
    runner.on('pass', () => void counts.passes++);
    runner.on('fail', () => void counts.failures++);
    runner.on('pending', () => void counts.pending++);
  });
  const file = process.env.WARPLENS_RESULTS;
  if (file !== undefined) fs.writeFileSync(file, JSON.stringify(counts));
  if (failures > 0) throw new Error(`${failures} tests failed`);
}
