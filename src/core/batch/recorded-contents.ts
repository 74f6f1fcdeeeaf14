/** The recorded inputs of the steps of a batch. Each different one is made once, because many items are usually alike. */
import type { ParsingContext } from '../execution/context.ts'
import { required } from '../util/lists.ts'
import type { Runner, Step } from './batch-step.ts'

/** Collects the recorded inputs of steps in order. */
export class RecordedContents {
  readonly #context: ParsingContext
  /** The position of the newest step of each runner that is recorded for itself, or of an earlier step with the same input. */
  readonly #newest = new Map<Runner<unknown>, number>()
  readonly #byText = new Map<string, number>()
  #count = 0

  constructor(context: ParsingContext) {
    this.#context = context
  }

  /** Returns the recorded input of the next step, or the position of an earlier step with the same. */
  add(step: Step<unknown>): string | number {
    const position = this.#count++
    if (step.isAlike) return required(this.#newest.get(step.runner), 'The step that another one is like')
    const text = step.runner.content(this.#context, step)
    const source = this.#byText.get(text)
    this.#newest.set(step.runner, source ?? position)
    if (source !== undefined) return source
    this.#byText.set(text, position)
    return text
  }
}
