/** A parsed query without its literals. Texts of one form are parsed once, and each is bound to its own literals. */
import type { Literal } from '../expressions/ast.ts'
import type { Constant } from '../expressions/replace-constants.ts'
import { type CutLiteral, isLevel } from './cut-literals.ts'
import { replaceInSelect } from './replace-in-select.ts'
import type { Select } from './select.ts'

/** The parsed query of every text of one form. It contains none of their literals. */
export interface SelectTemplate {
  /** The query with empty literals. Offsets after the first literal are those of another text, so errors must not use them. */
  readonly select: Select
  /** Returns the query of a text of this form, of which these are the literals; undefined if their number differs. */
  bind(literals: readonly CutLiteral[]): Select | undefined
}

/** Where the value of an empty literal comes from. */
interface Slot {
  /** Position among the cut literals. */
  readonly index: number
  /** The distance of a sign, which is not cut, before the digits; 0 without a sign. */
  readonly distance: number
}

/** Returns the template of a query, from which these literals were cut; undefined if not each of them is in a condition, once. */
export function createTemplate(bound: Select, literals: readonly CutLiteral[]): SelectTemplate | undefined {
  const slots = new Map<Constant, Slot>()
  const filled = new Set<number>()
  let isWhole = true
  const select = replaceInSelect(bound, (literal) => {
    const slot = slotOf(literal, literals)
    if (slot === undefined) {
      isWhole &&= staysInForm(literal)
      return literal
    }
    const empty = emptied(literal)
    slots.set(empty, slot)
    filled.add(slot.index)
    return empty
  })
  if (!isWhole || slots.size !== literals.length || filled.size !== literals.length) return undefined
  return {
    select,
    bind(given) {
      if (given.length !== literals.length) return undefined
      return replaceInSelect(select, (empty) => valueIn(slots.get(empty), given) ?? empty)
    },
  }
}

/** TRUE, FALSE and NULL stay in the form where they are written, and so do the names of levels. */
function staysInForm(literal: Constant): boolean {
  if (literal.kind === 'parameter' || literal.parameter !== undefined || literal.kind === 'number') return false
  return literal.kind !== 'text' || isLevel(literal)
}

/** Returns an object of its own without the value, by which its slot is found. */
function emptied({ kind }: Constant): Literal {
  const at = 0
  if (kind === 'boolean') return { kind, value: false, at }
  return kind === 'text' || kind === 'number' ? { kind, text: '', at } : { kind: 'null', at }
}

/** Returns where a literal was cut; undefined if it stayed in the form. A negative number begins at its sign, before what was cut. */
function slotOf(literal: Constant, literals: readonly CutLiteral[]): Slot | undefined {
  const index = literals.findIndex(({ at }) => at >= literal.at)
  const cut = literals[index]
  if (cut === undefined || cut.kind !== literal.kind) return undefined
  const distance = cut.at - literal.at
  if (distance === 0) return { index, distance }
  const isSigned = cut.kind === 'number' && literal.kind === 'number' && literal.text === `-${cut.text}`
  return isSigned ? { index, distance } : undefined
}

function valueIn(slot: Slot | undefined, given: readonly CutLiteral[]): Literal | undefined {
  const literal = slot === undefined ? undefined : given[slot.index]
  if (slot === undefined || literal?.kind !== 'number' || slot.distance === 0) return literal
  return { kind: 'number', text: `-${literal.text}`, at: literal.at - slot.distance }
}
