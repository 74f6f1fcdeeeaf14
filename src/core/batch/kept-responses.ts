/** The responses of a batch as they are kept with its idempotency key: those of items that write. What items read is read again. */
import { SUCCESS } from '../audit/event.ts'
import { type ErrorCode, type ErrorDetail, Fault, say, VaultError, words } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import { unitWith } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import type { Step } from './batch-step.ts'
import { type Ended, type ItemResponse, recordOf } from './run-steps.ts'

/** A response as it is kept. Null: of an item that read, whose values a deletion must end. */
type KeptResponse =
  | { readonly value: unknown }
  | {
      readonly code: ErrorCode
      readonly message: string
      readonly details: readonly ErrorDetail[]
      readonly httpStatus: number
    }
  | null

/** Returns what is kept of responses, as JSON. */
export function keepResponses(responses: readonly ItemResponse<unknown>[], steps: readonly Step<unknown>[]): KeptResponse[] {
  return responses.map((response, index) => {
    if (!response.ok) {
      const { code, message, details, httpStatus } = response.error
      return { code, message, details, httpStatus }
    }
    return at(steps, index).runner.method === 'get' ? null : { value: response.value }
  })
}

/** Returns the responses that were kept; undefined for one that must be read again. It was authenticated, so it is what `keepResponses` returned. */
export function restoreResponses<Value>(kept: unknown): (ItemResponse<Value> | undefined)[] {
  return (kept as readonly KeptResponse[]).map((one) => {
    if (one === null) return undefined
    if ('value' in one) return { ok: true, value: one.value as Value }
    const { code, message, details, httpStatus } = one
    return { ok: false, error: new VaultError(code, message, details, { httpStatus }) }
  })
}

/** A batch that was stored before. */
interface Repeated<Value> {
  readonly context: OperationContext
  readonly continueOnError: boolean
  readonly ended: Ended<Value>
}

/** Runs the items that read, and adds their responses, and how they ended. Throws the error of one unless the batch continues: the others are stored in any case. */
export async function readAgain<Value>(
  { context, continueOnError, ended }: Repeated<Value>,
  steps: readonly Step<Value>[],
  responses: (ItemResponse<Value> | undefined)[],
): Promise<void> {
  // The event of the batch is stored when all is read, and not with the first of the reads.
  const reading = { ...context, unit: unitWith(context.unit, async () => {}) }
  for (const [index, given] of steps.entries()) {
    if (responses[index] !== undefined) continue
    const { reference, runner } = given
    const step =
      reference === undefined
        ? given
        : runner.bind(context, given, recordOf(at(steps, reference), required(responses[reference]), reference))
    ended.events[index] = step.event
    try {
      responses[index] = { ok: true, value: await runner.run(reading, step) }
      ended.outcomes[index] = SUCCESS
    } catch (thrown) {
      const { error, outcome } = runner.failureOf(context, thrown)
      ended.outcomes[index] = outcome
      if (!VaultError.isGenuine(thrown)) throw thrown
      if (!continueOnError)
        throw Fault.within(
          say`The batch is stored, but item ${index} cannot be read again: ${words(runner.verb ?? '')} failed.`,
          thrown,
          { index },
        )
      responses[index] = { ok: false, error }
    }
  }
}
