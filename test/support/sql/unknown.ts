/** Turns "this condition is unknown" into a condition that is always true or false. */
import { unreachable } from '../../../src/core/util/causes.ts'
import type { Predicate, Term } from './query-tree.ts'

const TRUE: Predicate = { kind: 'truth', truth: true }
const FALSE: Predicate = { kind: 'truth', truth: false }

/** A condition that is true exactly if `predicate` is unknown, by the tables of three-valued logic. */
export function unknownOf(predicate: Predicate): Predicate {
  switch (predicate.kind) {
    case 'compare':
    case 'like':
      return anyOf([...nullTests(predicate.left), ...nullTests(predicate.right)])
    case 'in':
    case 'between':
      return unknownOfList(predicate)
    case 'hasKey':
      return { kind: 'isNull', isNegated: false, term: predicate.term }
    case 'isNull':
      return FALSE
    case 'truth':
      return predicate.truth === undefined ? TRUE : FALSE
    case 'not':
      return unknownOf(predicate.operand)
    case 'and':
    case 'or':
      return unknownOfChain(predicate.kind, predicate.operands)
    default:
      return unreachable(predicate)
  }
}

/** Unknown if the left side is null; else if one of the others is, and none of those that are not decides. */
function unknownOfList({ kind, left, others }: Extract<Predicate, { kind: 'in' | 'between' }>): Predicate {
  const decided = others.map((right, at): Predicate => {
    const operator = kind === 'in' ? '=' : at === 0 ? '<' : '>'
    const isKnown: Predicate = { kind: 'not', operand: anyOf(nullTests(right)) }
    return { kind: 'and', operands: [isKnown, { kind: 'compare', operator, left, right }] }
  })
  const isOpen: Predicate = {
    kind: 'and',
    operands: [anyOf(others.flatMap(nullTests)), { kind: 'not', operand: anyOf(decided) }],
  }
  return anyOf([...nullTests(left), isOpen])
}

function nullTests(term: Term): Predicate[] {
  if (term.kind === 'null') return [TRUE]
  return term.kind === 'column' ? [{ kind: 'isNull', isNegated: false, term }] : []
}

function anyOf(operands: readonly Predicate[]): Predicate {
  const [first, ...others] = operands
  if (first === undefined) return FALSE
  return others.length === 0 ? first : { kind: 'or', operands }
}

/** AND is unknown if an operand is unknown and none is false; OR if an operand is unknown and none is true. */
function unknownOfChain(kind: 'and' | 'or', links: readonly Predicate[]): Predicate {
  const [first, ...others] = links
  if (first === undefined) return FALSE
  if (others.length === 0) return unknownOf(first)
  const rest: Predicate = others.length === 1 && others[0] !== undefined ? others[0] : { kind, operands: others }
  const unsettling = (link: Predicate): Predicate => (kind === 'and' ? link : { kind: 'not', operand: link })
  const [one, other] = [unknownOf(first), unknownOf(rest)]
  return {
    kind: 'or',
    operands: [
      { kind: 'and', operands: [one, other] },
      { kind: 'and', operands: [one, unsettling(rest)] },
      { kind: 'and', operands: [unsettling(first), other] },
    ],
  }
}
