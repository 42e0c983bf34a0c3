# SYNTAX TEST "source.cuda-cpp" "annotation and suppression comments"

// warplens: block=(32,8) n=4096
#  ^^^^^^^^ comment.line.double-slash.cpp meta.annotation.warplens keyword.other.annotation.warplens
#          ^ punctuation.separator.annotation.warplens
#            ^^^^^ support.type.property-name.warplens
#                 ^ keyword.operator.assignment.warplens
#                  ^ punctuation.section.warplens
#                   ^^ constant.numeric.warplens
#                         ^ variable.parameter.warplens
#                           ^^^^ constant.numeric.warplens

/* warplens: grid=128 */ int x = 4;
#  ^^^^^^^^ comment.block.cpp keyword.other.annotation.warplens
#            ^^^^ support.type.property-name.warplens
#                     ^^ - meta.annotation.warplens
#                                ^ - constant.numeric.warplens

// warplens-ignore shared-bank-conflict, uncoalesced-global-access because it is the demo
#  ^^^^^^^^^^^^^^^ keyword.control.suppression.warplens
#                  ^^^^^^^^^^^^^^^^^^^^ entity.name.rule.warplens
#                                        ^^^^^^^^^^^^^^^^^^^^^^^^^ entity.name.rule.warplens
#                                                                  ^^^^^^^ - entity.name.rule.warplens

// plain words, n=4096
#               ^^^^^^ - variable.parameter.warplens

char text[] = "warplens: block=32";
#              ^^^^^^^^ - keyword.other.annotation.warplens
