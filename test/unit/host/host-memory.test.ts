import assert from 'node:assert/strict';
import { HostMemory } from '../../../server/src/host/host-memory';

const [AT, END] = [2 ** 20, 2 ** 20 + 4096];

describe('the memory of a run of the host', () => {
  it('is the next one’s, as if it were new', () => {
    const first = new HostMemory();
    first.fill(AT, END, 7);
    // the program stores past what it was given, and says so
    first.bytes[2 * AT] = 1;
    first.high.value = 2 * AT;
    first.giveBack();
    const second = new HostMemory();
    assert.equal(second.memory, first.memory);
    assert.deepEqual([second.bytes[AT], second.bytes[2 * AT]], [0, 0]);
    second.raise(3 * AT);
    assert.equal(second.knownEnd(0, 3 * AT), 0);
    assert.notEqual(new HostMemory().memory, second.memory);
  });

  it('is not kept where much of it was written', () => {
    const large = new HostMemory();
    large.know(AT, 2 ** 26);
    large.giveBack();
    assert.notEqual(new HostMemory().memory, large.memory);
  });

  it('knows again what was forgotten only where something was stored', () => {
    const memory = new HostMemory();
    memory.know(AT, END);
    memory.copy(END, AT, 256);
    memory.forget(AT, END);
    assert.deepEqual([memory.knownEnd(AT, END), memory.knownEnd(END, END + 256) > END], [AT, true]);
    memory.copy(END, 2 ** 27, 256);
    assert.equal(memory.knownEnd(END, END + 256), END);
  });

  it('knows up to where between two places something is known', () => {
    for (const start of [AT, AT + 3])
      for (const length of [1, 5, 8, 27])
        for (let known = start - 1; known <= start + length; known++) {
          const memory = new HostMemory();
          memory.know(known, known + 1);
          memory.raise(END);
          const isWithin = known >= start && known < start + length;
          const expected = isWithin ? known + 1 : start;
          assert.equal(memory.knownEnd(start, start + length), expected, `${known} of ${start} + ${length}`);
          memory.giveBack();
        }
  });
});
