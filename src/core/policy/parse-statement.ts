/** Parses a statement, given as text or as an object, and checks its words. Names are resolved later. */
import { say, words } from '../errors.ts'
import type { Expression } from '../expressions/ast.ts'
import { TextFault } from '../expressions/text-fault.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { isAskedLevel } from '../redaction/levels.ts'
import { at as itemAt } from '../util/at.ts'
import type { Action } from './actions.ts'
import { ACTIONS, isAction } from './actions.ts'
import { readConditionText, readStatementText } from './read-statement-text.ts'
import { refusePolicy, refuseText } from './refuse-policy.ts'
import type { Effect, Place, Statement, Target, Where } from './statement.ts'

/** A word of a statement and its location. */
interface Word {
  readonly place: Place
  readonly at: number
  readonly word: string
}

/** The parts of a statement in either form. */
interface Parts {
  readonly place: Place
  readonly text: string
  readonly effect: Word
  readonly actions: readonly Word[]
  readonly targets: readonly Target[]
  readonly level: Word | undefined
  readonly where: Where | undefined
}

/** Parses one statement. Throws the code of the error's kind, `invalid_request` for most, with the location and what was expected. */
export function parseStatement(place: Place, input: unknown): Statement {
  if (typeof input === 'string') return fromParts(partsOfText({ ...place, text: input }, input))
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return fromParts(partsOfObject(place, membersOf(place, input)))
  }
  throw refusePolicy(place, say`Expected a statement, as text or as an object.`)
}

/** Throws for a member that is present but undefined: a condition lost from a missing setting would grant every row. */
function membersOf(place: Place, input: object): ReadonlyMap<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(input)
  if (prototype !== Object.prototype && prototype !== null)
    throw refusePolicy(place, say`Expected a statement, as text or as a plain object.`)
  const members = new Map<string, unknown>(Object.entries(input))
  for (const member of ['where', 'redaction']) {
    if (members.has(member) && members.get(member) === undefined)
      throw refusePolicy({ ...place, member }, say`Expected a string; omit the member if unused.`)
  }
  return members
}

function fromParts(parts: Parts): Statement {
  const effect = effectOf(parts.effect)
  const actions = actionsOf(parts.actions)
  const level = levelOf(parts, effect, actions)
  assertAuditOnEverything(parts)
  if (parts.where !== undefined) assertOneTable(parts.targets)
  return { place: parts.place, text: parts.text, effect, actions, targets: parts.targets, level, where: parts.where }
}

function effectOf({ place, at, word }: Word): Effect {
  const effect = word.toUpperCase()
  if (effect === 'ALLOW' || effect === 'DENY') return effect
  throw refusePolicy(place, say`Expected ALLOW or DENY.`, at)
}

function actionsOf(names: readonly Word[]): readonly Action[] {
  const actions = new Set<Action>()
  for (const { place, at, word } of names) {
    const action = word.toUpperCase()
    if (action === 'ALL' && names.length === 1) return ACTIONS
    if (action === 'ALL') throw refusePolicy(place, say`ALL includes every other action. Use it alone.`, at)
    if (!isAction(action)) {
      throw refusePolicy(place, say`Action ${word} is unknown. Expected ${words(ACTIONS.join(', '))} or ALL.`, at)
    }
    actions.add(action)
  }
  return [...actions]
}

function levelOf({ level }: Parts, effect: Effect, actions: readonly Action[]): AskedLevel {
  if (level === undefined) return 'DEFAULT'
  const { place, at, word } = level
  const name = word.toUpperCase()
  if (!isAskedLevel(name)) {
    const sentence = say`Redaction ${word} is unknown. Expected PLAIN_TEXT, MASKED, REDACTED or DEFAULT.`
    throw refusePolicy(place, sentence, at)
  }
  if (effect === 'DENY') {
    throw refusePolicy(place, say`DENY cannot have a redaction. To show less, ALLOW READ at a lower level.`, at)
  }
  if (!actions.includes('READ')) throw refusePolicy(place, say`A redaction requires READ. Add READ, or omit the redaction.`, at)
  return name
}

/** The audit trail is one for the whole vault. A grant for a part would promise a filter that does not exist. */
function assertAuditOnEverything({ actions, targets }: Parts): void {
  const audit = actions.find(({ word }) => word.toUpperCase() === 'AUDIT')
  if (audit !== undefined && targets.some((target) => target.table !== undefined)) {
    throw refusePolicy(audit.place, say`AUDIT can only be granted ON *.`, audit.at)
  }
}

/** A condition evaluates rows, and rows belong to one table. */
function assertOneTable(targets: readonly Target[]): void {
  const [first] = targets
  for (const { place, at, table } of targets) {
    if (table !== undefined && table === first?.table) continue
    throw refusePolicy(place, say`A statement with WHERE must target one table. Expected columns of one table, or table.*`, at)
  }
}

/** Adds the location to language errors of `read`. */
function withPolicyErrors<T>(place: Place, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof TextFault) throw refuseText(place, error)
    throw error
  }
}

function partsOfText(place: Place, text: string): Parts {
  const read = withPolicyErrors(place, () => readStatementText(text))
  const { where } = read
  return {
    place,
    text: oneLine(text),
    effect: { place, ...read.effect },
    actions: read.actions.map((word) => ({ place, ...word })),
    targets: read.targets.map((target) => ({ place, ...target })),
    level: read.level === undefined ? undefined : { place, ...read.level },
    where:
      where === undefined ? undefined : { place, text: text.slice(where.from, where.to).trim(), expression: where.expression },
  }
}

/** The words of a statement given as an object. */
interface ObjectWords {
  readonly effect: Word
  readonly actions: readonly Word[]
  readonly on: readonly Word[]
  readonly level: Word | undefined
  readonly condition: Word | undefined
}

const MEMBERS: ReadonlySet<string> = new Set(['effect', 'actions', 'on', 'redaction', 'where'])

function partsOfObject(place: Place, members: ReadonlyMap<string, unknown>): Parts {
  for (const name of members.keys()) {
    if (!MEMBERS.has(name)) throw refusePolicy(place, say`Member ${name} is unknown. Expected ${words([...MEMBERS].join(', '))}.`)
  }
  const word = (member: string): Word => itemAt(wordsOf({ ...place, member }, [members.get(member)]), 0)
  const actions = wordsOf({ ...place, member: 'actions' }, members.get('actions'))
  const on = wordsOf({ ...place, member: 'on' }, members.get('on'))
  const condition = members.get('where') === undefined ? undefined : word('where')
  const level = members.get('redaction') === undefined ? undefined : word('redaction')
  const effect = word('effect')
  return {
    place,
    text: printed({ effect, actions, on, level, condition }),
    effect,
    actions,
    targets: on.map(targetOf),
    level,
    where: condition === undefined ? undefined : whereOf(condition),
  }
}

function wordsOf(place: Place, list: unknown): Word[] {
  if (!Array.isArray(list) || list.length === 0) throw refusePolicy(place, say`Expected a non-empty array of strings.`)
  return list.map((word: unknown) => {
    if (typeof word !== 'string') throw refusePolicy(place, say`Expected a string.`)
    return { place, at: 0, word }
  })
}

const TARGET = /^(?:\*|([A-Za-z_]\w*)\.(?:\*|([A-Za-z_]\w*)))$/

function targetOf({ place, word }: Word): Target {
  const match = TARGET.exec(word)
  if (match === null) throw refusePolicy(place, say`Expected *, table.* or table.column.`)
  return { place, at: 0, table: match[1]?.toLowerCase(), column: match[2]?.toLowerCase() }
}

function whereOf({ place, word }: Word): Where {
  const own = { ...place, text: word }
  const expression: Expression = withPolicyErrors(own, () => readConditionText(word))
  return { place: own, text: word.trim(), expression }
}

/** Prints a statement given as an object in text form. */
function printed({ effect, actions, on, level, condition }: ObjectWords): string {
  const list = (words: readonly Word[]) => words.map(({ word }) => word).join(', ')
  const redaction = level === undefined ? '' : ` WITH REDACTION = ${level.word}`
  const where = condition === undefined ? '' : ` WHERE ${condition.word}`
  return oneLine(`${effect.word} ${list(actions)} ON ${list(on)}${redaction}${where}`)
}

/**
 * Replaces blanks outside quotes by one space. A text that may contain a line comment is only trimmed: the comment would swallow what
 * follows.
 */
function oneLine(text: string): string {
  if (text.includes('--')) return text.trim()
  return text.trim().replace(/('(?:[^']|'')*'|"(?:[^"]|"")*")|\s+/g, (_, quoted: string | undefined) => quoted ?? ' ')
}
