/** Answers to questions about constraints (C++20): what cannot be decided is undefined, and spoils no answer that rests on the rest alone. */

/** undefined: nobody knows */
export type Answer = boolean | undefined;

/** Whether all hold; the first that does not ends the question. */
export function every<T>(parts: readonly T[], test: (part: T) => Answer): Answer {
  let all: Answer = true;
  for (const part of parts) {
    const answer = test(part);
    if (answer === false) return false;
    all &&= answer;
  }
  return all;
}

/** `left && right` or `left || right`: the right side is asked only where the left one does not decide. */
export function combined(operator: '&&' | '||', left: Answer, right: () => Answer): Answer {
  const decides = operator === '||';
  if (left === decides) return left;
  const answer = right();
  return answer === decides || left !== undefined ? answer : undefined;
}
