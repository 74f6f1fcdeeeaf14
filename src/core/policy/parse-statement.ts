/** Parses a statement, given as text or as an object, and checks its words. Names are resolved later. */
import { say, words } from '../errors.ts'
import type { Expression } from '../expressions/ast.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { isRedaction, type Redaction } from '../redaction.ts'
import { at as itemAt } from '../util/lists.ts'
import { readConditionText, readStatementText } from './read-statement-text.ts'
import {
  ACTIONS,
  type Action,
  type Effect,
  isAction,
  policyError,
  refuseText,
  type Statement,
  type StatementLocation,
  type Target,
  type Where,
} from './statement.ts'

/** A word of a statement and its location. */
interface Word {
  readonly location: StatementLocation
  readonly at: number
  readonly word: string
}

/** The parts of a statement in either form. */
interface Parts {
  readonly location: StatementLocation
  readonly text: string
  readonly effect: Word
  readonly actions: readonly Word[]
  readonly targets: readonly Target[]
  readonly level: Word | undefined
  readonly where: Where | undefined
}

/** Parses one statement. Throws the code of the error's kind, `invalid_request` for most, with the location and what was expected. */
export function parseStatement(location: StatementLocation, input: unknown): Statement {
  if (typeof input === 'string') return fromParts(partsOfText({ ...location, text: input }, input))
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return fromParts(partsOfObject(location, membersOf(location, input)))
  }
  throw policyError(location, say`Expected a statement, as text or as an object.`)
}

/** Throws for a member that is present but undefined: a condition lost from a missing setting would grant every row. */
function membersOf(location: StatementLocation, input: object): ReadonlyMap<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(input)
  if (prototype !== Object.prototype && prototype !== null)
    throw policyError(location, say`Expected a statement, as text or as a plain object.`)
  const members = new Map<string, unknown>(Object.entries(input))
  for (const member of ['where', 'redaction']) {
    if (members.has(member) && members.get(member) === undefined)
      throw policyError({ ...location, member }, say`Expected a string; omit the member if unused.`)
  }
  return members
}

function fromParts(parts: Parts): Statement {
  const effect = effectOf(parts.effect)
  const actions = actionsOf(parts.actions)
  const level = levelOf(parts, effect, actions)
  assertAuditOnEverything(parts)
  if (parts.where !== undefined) assertOneTable(parts.targets)
  const { location, text, targets, where } = parts
  return { location, text, effect, actions, isAll: actions === ACTIONS, targets, level, where }
}

function effectOf({ location, at, word }: Word): Effect {
  const effect = word.toUpperCase()
  if (effect === 'ALLOW' || effect === 'DENY') return effect
  throw policyError(location, say`Expected ALLOW or DENY.`, at)
}

function actionsOf(names: readonly Word[]): readonly Action[] {
  const actions = new Set<Action>()
  for (const { location, at, word } of names) {
    const action = word.toUpperCase()
    if (action === 'ALL' && names.length === 1) return ACTIONS
    if (action === 'ALL') throw policyError(location, say`ALL includes every other action. Use it alone.`, at)
    if (!isAction(action)) {
      throw policyError(location, say`Action ${word} is unknown. Expected ${words(ACTIONS.join(', '))} or ALL.`, at)
    }
    actions.add(action)
  }
  return [...actions]
}

function levelOf({ level }: Parts, effect: Effect, actions: readonly Action[]): Redaction {
  if (level === undefined) return 'DEFAULT'
  const { location, at, word } = level
  const name = word.toUpperCase()
  if (!isRedaction(name)) {
    const sentence = say`Redaction ${word} is unknown. Expected PLAIN_TEXT, MASKED, REDACTED or DEFAULT.`
    throw policyError(location, sentence, at)
  }
  if (effect === 'DENY') {
    throw policyError(location, say`DENY cannot have a redaction. To show less, ALLOW READ at a lower level.`, at)
  }
  if (!actions.includes('READ')) throw policyError(location, say`A redaction requires READ. Add READ, or omit the redaction.`, at)
  return name
}

/** The audit trail is one for the whole vault. A grant for a part would promise a filter that does not exist. */
function assertAuditOnEverything({ actions, targets }: Parts): void {
  const audit = actions.find(({ word }) => word.toUpperCase() === 'AUDIT')
  if (audit !== undefined && targets.some((target) => target.table !== undefined)) {
    throw policyError(audit.location, say`AUDIT can only be granted ON *.`, audit.at)
  }
}

/** A condition evaluates rows, and rows belong to one table. */
function assertOneTable(targets: readonly Target[]): void {
  const [first] = targets
  for (const { location, at, table } of targets) {
    if (table !== undefined && table === first?.table) continue
    throw policyError(location, say`A statement with WHERE must target one table. Expected columns of one table, or table.*`, at)
  }
}

/** Adds the location to language errors of `read`. */
function withPolicyErrors<T>(location: StatementLocation, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof LanguageError) throw refuseText(location, error)
    throw error
  }
}

function partsOfText(location: StatementLocation, text: string): Parts {
  const read = withPolicyErrors(location, () => readStatementText(text))
  const { where } = read
  return {
    location,
    text: oneLine(text),
    effect: { location, ...read.effect },
    actions: read.actions.map((word) => ({ location, ...word })),
    targets: read.targets.map((target) => ({ location, ...target })),
    level: read.level === undefined ? undefined : { location, ...read.level },
    where:
      where === undefined ? undefined : { location, text: text.slice(where.from, where.to).trim(), expression: where.expression },
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

function partsOfObject(location: StatementLocation, members: ReadonlyMap<string, unknown>): Parts {
  for (const name of members.keys()) {
    if (!MEMBERS.has(name))
      throw policyError(location, say`Member ${name} is unknown. Expected ${words([...MEMBERS].join(', '))}.`)
  }
  const word = (member: string): Word => itemAt(wordsOf({ ...location, member }, [members.get(member)]), 0)
  const actions = wordsOf({ ...location, member: 'actions' }, members.get('actions'))
  const on = wordsOf({ ...location, member: 'on' }, members.get('on'))
  const condition = members.get('where') === undefined ? undefined : word('where')
  const level = members.get('redaction') === undefined ? undefined : word('redaction')
  const effect = word('effect')
  return {
    location,
    text: printed({ effect, actions, on, level, condition }),
    effect,
    actions,
    targets: on.map(targetOf),
    level,
    where: condition === undefined ? undefined : whereOf(condition),
  }
}

function wordsOf(location: StatementLocation, list: unknown): Word[] {
  if (!Array.isArray(list) || list.length === 0) throw policyError(location, say`Expected a non-empty array of strings.`)
  return list.map((word: unknown) => {
    if (typeof word !== 'string') throw policyError(location, say`Expected a string.`)
    return { location, at: 0, word }
  })
}

const TARGET = /^(?:\*|([A-Za-z_]\w*)\.(?:\*|([A-Za-z_]\w*)))$/

function targetOf({ location, word }: Word): Target {
  const match = TARGET.exec(word)
  if (match === null) throw policyError(location, say`Expected *, table.* or table.column.`)
  return { location, at: 0, table: match[1]?.toLowerCase(), column: match[2]?.toLowerCase() }
}

function whereOf({ location, word }: Word): Where {
  const own = { ...location, text: word }
  const expression: Expression = withPolicyErrors(own, () => readConditionText(word))
  return { location: own, text: word.trim(), expression }
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
