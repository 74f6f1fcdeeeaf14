/** Ways to tamper with an exported audit trail. The careful ways make the export consistent again; the careless ways do not. */

import type { EventDraft } from '../../../src/core/audit/event.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import { bytesOf, exportLines, storedLine, type Trail, type WrittenRow, writeChain, writeTrail } from './sample-trails.ts'

/** One export to tamper with: the trail, its lines, and random integers. */
export interface Target {
  readonly trail: Trail
  readonly lines: readonly string[]
  /** A random integer from 0 up to, and without, `count`. */
  below(count: number): number
}

/** One way to tamper. Returns the changed lines. */
export type Tampering = (target: Target) => readonly string[]

const LENGTHS = [6, 1, 5]
/** Replacement characters: those of JSON, digits and names. */
const CHARACTERS = '{}[]",:0123456789abcdefABCDEF xyz-*\\\u0000é'

/** A similar trail from another time. */
const OTHER = exportLines(writeTrail([6, 2, 5, 1]))

/** Tampering that the export alone reveals. */
export const CLUMSY: Readonly<Record<string, Tampering>> = {
  'changes a character': ({ lines, below }) => {
    const at = below(lines.length)
    const line = lines[at] ?? ''
    const where = below(line.length)
    const other = [...CHARACTERS].filter((character) => character !== line[where])[below(CHARACTERS.length - 1)] ?? '_'
    return lines.with(at, line.slice(0, where) + other + line.slice(where + 1))
  },
  'adds or removes a character': ({ lines, below }) => {
    const at = below(lines.length)
    const line = lines[at] ?? ''
    const where = below(line.length)
    const other = below(2) === 0 ? '' : `${line[where]}${CHARACTERS[below(CHARACTERS.length)]}`
    return lines.with(at, line.slice(0, where) + other + line.slice(where + 1))
  },
  'removes a line': ({ lines, below }) => lines.toSpliced(below(lines.length), 1),
  'removes neighbors': ({ lines, below }) => lines.toSpliced(below(lines.length), 1 + below(4)),
  'copies a line': ({ lines, below }) => lines.toSpliced(below(lines.length + 1), 0, lines[below(lines.length)] ?? ''),
  'swaps two lines': ({ lines, below }) => {
    const [one, other] = twoOf(lines.length, below)
    return lines.with(one, lines[other] ?? '').with(other, lines[one] ?? '')
  },
  'moves a line': ({ lines, below }) => {
    const [from, to] = twoOf(lines.length, below)
    return lines.toSpliced(from, 1).toSpliced(to, 0, lines[from] ?? '')
  },
  'turns a part around': ({ lines, below }) => {
    const [one, other] = twoOf(lines.length, below)
    const [start, end] = [Math.min(one, other), Math.max(one, other) + 1]
    return [...lines.slice(0, start), ...lines.slice(start, end).reverse(), ...lines.slice(end)]
  },
  'cuts the file': ({ lines, below }) => lines.slice(0, below(lines.length)),
  'goes on behind the end': ({ lines, below }) => [...lines, lines[below(lines.length)] ?? ''],
  'edits an event and its digest': (target) => withEvent(target, (row, { below }) => storedLine(edited(row, below))),
  'puts in an event of its own': ({ trail, lines, below }) => {
    const draft: EventDraft = { ...someDraft(trail, below), message: 'forged' }
    const [row] = writeChain(1 + below(LENGTHS.length + 1), [draft]).rows
    return lines.toSpliced(1 + below(lines.length - 1), 0, storedLine(row?.bytes ?? Uint8Array.of()))
  },
  'takes a line of another export': ({ lines, below }) => {
    const foreign = OTHER.filter((line) => !lines.includes(line))
    return lines.with(below(lines.length), foreign[below(foreign.length)] ?? '')
  },
}

/** Tampering that recomputes heads, counts and all later digests: only a checkpoint reveals it. */
export const CAREFUL: Readonly<Record<string, Tampering>> = {
  'cuts the end of a chain': ({ below }) => {
    const chain = below(LENGTHS.length)
    const length = LENGTHS[chain] ?? 1
    return exportLines(rewritten(LENGTHS.with(chain, length - 1 - below(length))))
  },
  'cuts whole chains': ({ below }) => exportLines(rewritten(LENGTHS.slice(0, below(LENGTHS.length)))),
  'edits an event and chains the rest to it': ({ below }) => {
    const chain = below(LENGTHS.length)
    const sequence = below(LENGTHS[chain] ?? 1)
    return exportLines(
      rewritten(LENGTHS, (draft, at) => (at.chain === chain && at.position === sequence ? changedDraft(draft, below) : draft)),
    )
  },
  'puts in an event and chains the rest to it': ({ trail, below }) => {
    const chain = below(LENGTHS.length)
    const drafts = draftsOf(trail, chain + 1)
    const put = drafts.toSpliced(below(drafts.length), 0, { ...someDraft(trail, below), message: 'forged' })
    return exportLines(replacedChain(trail, chain + 1, put))
  },
  'takes out an event and chains the rest together': ({ trail, below }) => {
    // A chain of one event would be removed completely, which the cut above does already.
    const chain = below(2) === 0 ? 1 : 3
    const drafts = draftsOf(trail, chain)
    return exportLines(replacedChain(trail, chain, drafts.toSpliced(below(drafts.length), 1)))
  },
}

/** The trail that all ways change. */
export function tamperedTrail(): Trail {
  return writeTrail(LENGTHS)
}

/** The trail rewritten with chains of these lengths, without empty chains. */
function rewritten(
  lengths: readonly number[],
  change?: (draft: EventDraft, at: { chain: number; position: number }) => EventDraft,
): Trail {
  const whole = writeTrail(LENGTHS)
  const chains = lengths.flatMap((length, chain) => {
    const drafts = draftsOf(whole, chain + 1).slice(0, length)
    const changed = change === undefined ? drafts : drafts.map((draft, place) => change(draft, { chain, position: place }))
    return changed.length === 0 ? [] : writeChain(chain + 1, changed)
  })
  return { rows: chains.flatMap(({ rows }) => rows), heads: chains.map(({ head }) => head) }
}

function replacedChain({ rows, heads }: Trail, chain: number, drafts: readonly EventDraft[]): Trail {
  const anew = writeChain(chain, drafts)
  const others = rows.filter(({ bytes }) => decodeEvent(bytes).position.chain !== chain)
  return {
    rows: [...others, ...anew.rows].sort((left, right) => left.id - right.id),
    heads: heads.map((head) => (head.chain === chain ? anew.head : head)),
  }
}

/** The drafts of the events of a chain. */
function draftsOf({ rows }: Trail, chain: number): EventDraft[] {
  return rows
    .map(({ bytes }) => decodeEvent(bytes))
    .filter(({ position }) => position.chain === chain)
    .map(
      ({
        v: _v,
        position: _place,
        changeID: _changeID,
        timestamp: _timestamp,
        vaultID: _vaultID,
        accountID: _accountID,
        ...draft
      }) => draft,
    )
}

function someDraft(trail: Trail, below: Target['below']): EventDraft {
  const drafts = draftsOf(trail, 1)
  const draft = drafts[below(drafts.length)]
  if (draft === undefined) throw new Error('the trail has no chain 1')
  return draft
}

/** An event's draft with one member changed. */
function changedDraft(draft: EventDraft, below: Target['below']): EventDraft {
  const changes: EventDraft[] = [
    { ...draft, code: draft.code + 1 },
    { ...draft, message: `${draft.message}.` },
    { ...draft, content: `${draft.content ?? ''} ` },
    { ...draft, context: { ...draft.context, actor: 'mallory' } },
    { ...draft, rows: [{ table: 'people', runs: [[77, 1]] }] },
  ]
  return changes[below(changes.length)] ?? draft
}

/** An event's bytes with one member changed. */
function edited({ bytes }: WrittenRow, below: Target['below']): Uint8Array {
  const event = decodeEvent(bytes)
  const whole = { ...event, ...changedDraft(event, below) }
  const elsewhere = [whole, { ...event, changeID: `${event.changeID}.` }, { ...event, accountID: 'other' }]
  return bytesOf(elsewhere[below(elsewhere.length)] ?? whole)
}

function withEvent(target: Target, change: (row: WrittenRow, target: Target) => string): readonly string[] {
  const { trail, lines, below } = target
  const index = below(trail.rows.length)
  const row = trail.rows[index]
  // The events directly precede the end line.
  return row === undefined ? lines : lines.with(lines.length - 1 - trail.rows.length + index, change(row, target))
}

function twoOf(count: number, below: Target['below']): [number, number] {
  const one = below(count)
  return [one, (one + 1 + below(count - 1)) % count]
}
