// Mocha's dot reporter, which also leaves the counts in the file that WARPLENS_RESULTS names.
const fs = require('node:fs');
const { reporters, Runner } = require('mocha');

module.exports = class extends reporters.Dot {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      if (process.env.WARPLENS_RESULTS) {
        fs.writeFileSync(process.env.WARPLENS_RESULTS, JSON.stringify({ passes, failures, pending }));
      }
    });
  }
};
