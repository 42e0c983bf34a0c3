import { checkExpression as check, checkBody } from './parse-text';

describe('blocks as expressions', () => {
  it('are statements within parentheses', () => {
    check('a + ({ b; c; })', '(+ a (block {b; c}))');
    check('f(({ int t = a; t; }), b)', '(call f (block {(var t int = a); t}) b)');
    check('({ ; })', '(block {_})');
    check('({ ({ a; }) + 1; })', '(block {(+ (block {a}) 1)})');
  });

  it('may be marked as an extension', () => {
    checkBody('int v = __extension__ ({ 3; });', '(var v int = (block {3}))');
  });

  it('hold names of their own', () => {
    checkBody(
      'int v = ({ typedef int W; (W)+2; }); int W = 1; (W)+2;',
      '(var v int = (block {(alias W int); (cast:c W (+ 2))})); (var W int = 1); (+ W 2)',
    );
  });

  it('read the type of an operand, or a type', () => {
    checkBody('__typeof__(x) y = x;', '(var y decltype(x) = x)', 'extern int x;');
    checkBody('typeof(int*) y; __typeof(const float) z;', '(var y *int); (var z const float)');
  });
});
