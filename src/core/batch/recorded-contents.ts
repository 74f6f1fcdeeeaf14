/** The recorded inputs of the steps of a batch. Each different one is made once, because many items are usually alike. */
import type { ParsingContext } from '../execution/context.ts'
import type { Runner, Step } from './batch-step.ts'

/** A step with a recorded input, and its position in the batch. */
interface Known {
  readonly step: Step<unknown>
  readonly position: number
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
    if (newest !== undefined && isAlike(newest.step, step)) return newest.position
    const text = step.runner.content(this.#context, step)
    const source = this.#byText.get(text)
    this.#newest.set(step.runner, { step, position: source ?? position })
    if (source !== undefined) return source
    this.#byText.set(text, position)
    return text
  }
}

/** True if two items of one method are recorded in the same way: with the same options, and the same columns in the same order. */
function isAlike({ members: left }: Step<unknown>, { members: right }: Step<unknown>): boolean {
  if (left === undefined || right === undefined) return false
  return (
    left.tableName === right.tableName &&
    OPTIONS.every((name) => left[name] === right[name]) &&
    (left.batchID === undefined) === (right.batchID === undefined) &&
    haveSameNames(left.fields, right.fields) &&
    haveSameNames(left.tokens, right.tokens)
  )
}

/** The members whose value is recorded. The id of a record is not, and every item of a method has one, or none has. */
const OPTIONS = ['tokenization', 'upsert', 'onConflict', 'redaction', 'downloadURL', 'returnFileMetadata'] as const

function haveSameNames(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) || Array.isArray(right)) return false
  const names = Object.keys(right)
  let next = 0
  for (const name of Object.keys(left)) if (name !== names[next++]) return false
  return next === names.length
}
