/** The recorded inputs of the steps of a batch. Each different one is made once, because many items are usually alike. */
import { areAlike } from '../audit/record-shape.ts'
import type { ParsingContext } from '../execution/context.ts'
import { RECORDED_ITEM } from './batch-item.ts'
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

function isAlike(left: Step<unknown>, right: Step<unknown>): boolean {
  return left.members !== undefined && right.members !== undefined && areAlike(left.members, right.members, RECORDED_ITEM)
}
