/** The recorded inputs of the steps of a batch. Each different one is made once, because many items are usually alike. */
import type { ParsingContext } from '../execution/context.ts'
import type { Runner, Step } from './batch-step.ts'

/** A step with a recorded input, its position in the batch, and its columns. */
interface Known {
  readonly step: Step<unknown>
  readonly position: number
  readonly fields: readonly string[] | undefined
  readonly tokens: readonly string[] | undefined
}

/** Collects the recorded inputs of steps in order. */
export class RecordedContents {
  readonly #context: ParsingContext
  readonly #newest = new Map<Runner<unknown>, Known>()
  readonly #byText = new Map<string, number>()
  #count = 0

  constructor(context: ParsingContext) {
    this.#context = context
  }

  /** Returns the recorded input of the next step, or the position of an earlier step with the same. */
  add(step: Step<unknown>): string | number {
    const position = this.#count++
    const newest = this.#newest.get(step.runner)
    if (newest !== undefined && isAlike(newest, step)) return newest.position
    const text = step.runner.content(this.#context, step)
    const source = this.#byText.get(text)
    const { members } = step
    const columns = { fields: namesIn(members?.fields), tokens: namesIn(members?.tokens) }
    this.#newest.set(step.runner, { step, position: source ?? position, ...columns })
    if (source !== undefined) return source
    this.#byText.set(text, position)
    return text
  }
}

/** True if an item is recorded as a known one of its method: with the same options, and the same columns in the same order. */
function isAlike({ step: { members: left }, fields, tokens }: Known, { members: right }: Step<unknown>): boolean {
  if (left === undefined || right === undefined) return false
  return (
    left.tableName === right.tableName &&
    OPTIONS.every((name) => left[name] === right[name]) &&
    (left.batchID === undefined) === (right.batchID === undefined) &&
    (left.fields === right.fields || hasNames(right.fields, fields)) &&
    (left.tokens === right.tokens || hasNames(right.tokens, tokens))
  )
}

/** The members whose value is recorded. The id of a record is not, and every item of a method has one, or none has. */
const OPTIONS = ['tokenization', 'upsert', 'onConflict', 'redaction', 'downloadURL', 'returnFileMetadata'] as const

/** Returns the names of an object that is no list; undefined for anything else. */
function namesIn(columns: unknown): readonly string[] | undefined {
  return typeof columns === 'object' && columns !== null && !Array.isArray(columns) ? Object.keys(columns) : undefined
}

function hasNames(columns: unknown, names: readonly string[] | undefined): boolean {
  const others = namesIn(columns)
  if (others === undefined || names === undefined || others.length !== names.length) return false
  for (let i = 0; i < names.length; i++) if (others[i] !== names[i]) return false
  return true
}
