const os = require('node:os');

module.exports = {
  import: 'tsx',
  require: ['./test/unit/setup.ts'],
  spec: ['test/unit/**/*.test.ts'],
  // beside another process, and threads of their own
  timeout: 40000,
  ui: 'bdd',
  reporter: 'dot',
  forbidOnly: true,
  // mocha's own number leaves one processor idle, which is half of a small machine
  parallel: true,
  jobs: os.availableParallelism(),
};
