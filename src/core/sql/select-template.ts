/** A parsed query without its literals. Texts of one form are parsed once, and each is bound to its own literals. */
import { type ReplaceableLiteral, replaceLiterals } from '../expressions/replace-literals.ts'
import { type CutLiteral, isLevel } from './cut-literals.ts'
import type { Select } from './select.ts'

/** The parsed query of every text of one form. It contains none of their literals. */
export interface SelectTemplate {
  /** The query with empty literals. Offsets after the first literal are those of another text, so errors must not use them. */
  readonly select: Select
  /** Returns the query of a text of this form, of which these are the literals; undefined if their number differs. */
  bind(literals: readonly CutLiteral[]): Select | undefined
}

/** Where the text of an empty literal comes from. */
interface Slot {
  /** Position among the cut literals. */
  readonly index: number
  /** The sign of a number, which is not cut, and its distance before the digits. */
  readonly sign: '' | '-'
  readonly distance: number
}

/** Returns the template of a parsed query, from which these literals were cut; undefined if not each of them is in a condition, once. */
export function createTemplate(parsed: Select, literals: readonly CutLiteral[]): SelectTemplate | undefined {
  const slots = new Map<ReplaceableLiteral, Slot>()
  const filled = new Set<number>()
  let isWhole = true
  const select = replaceIn(parsed, (literal) => {
    const slot = slotOf(literal, literals)
    if (slot === undefined) {
      isWhole &&= isLevel(literal)
      return literal
    }
    const empty = { kind: literal.kind, text: '', at: 0 }
    slots.set(empty, slot)
    filled.add(slot.index)
    return empty
  })
  if (!isWhole || slots.size !== literals.length || filled.size !== literals.length) return undefined
  return {
    select,
    bind(given) {
      if (given.length !== literals.length) return undefined
      return replaceIn(select, (empty) => bound(empty, slots.get(empty), given))
    },
  }
}

function replaceIn(select: Select, replaced: (literal: ReplaceableLiteral) => ReplaceableLiteral): Select {
  const joins = select.joins.map((join) => ({ ...join, on: replaceLiterals(join.on, replaced) }))
  return { ...select, joins, where: select.where === undefined ? undefined : replaceLiterals(select.where, replaced) }
}

/** Returns where a literal was cut; undefined if it stayed in the form. A negative number begins at its sign, before what was cut. */
function slotOf({ kind, text, at }: ReplaceableLiteral, literals: readonly CutLiteral[]): Slot | undefined {
  const index = literals.findIndex((cut) => cut.at >= at)
  const cut = literals[index]
  if (cut === undefined || cut.kind !== kind) return undefined
  const sign = kind === 'number' && text.startsWith('-') ? '-' : ''
  return text === sign + cut.text && (cut.at === at) === (sign === '') ? { index, sign, distance: cut.at - at } : undefined
}

function bound(empty: ReplaceableLiteral, slot: Slot | undefined, given: readonly CutLiteral[]): ReplaceableLiteral {
  const literal = slot === undefined ? undefined : given[slot.index]
  return slot === undefined || literal === undefined
    ? empty
    : { kind: literal.kind, text: slot.sign + literal.text, at: literal.at - slot.distance }
}
