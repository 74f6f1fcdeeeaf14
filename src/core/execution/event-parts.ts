/** The parts of an event: the items of a batch, each with the event that its operation would have by itself. */
import type { EventRows, NestedOutcome, ResourceType } from '../audit/event.ts'
import { NOT_RUN, OUTCOME_UNKNOWN, type Outcome, ROLLED_BACK, SUCCESS } from '../audit/outcome.ts'
import { mayBeStoredCode, type VaultError } from '../errors.ts'

/** What an operation inside another adds to the event. */
interface PartialEvent {
  /** True after rows were written, whether or not they are kept. */
  readonly hasWritten: boolean
  build(outcome: Outcome): Outcome & { readonly rows?: readonly EventRows[] }
}

/** One operation inside another. */
export interface EventPart {
  readonly event: PartialEvent
  readonly resourceType: ResourceType
  readonly outcome: Outcome
  /** Its error, as the caller gets it. */
  readonly error?: VaultError | undefined
  /** Its recorded input; undefined if it is the same as that of the part before. */
  readonly content: string | undefined
}

/** Returns the outcome of each part, if the whole ended like this. A change is rolled back with the whole; what was read stays read. */
export function nestedOutcomes(parts: readonly EventPart[], whole: Outcome): NestedOutcome[] {
  return parts.map((part) => {
    const outcome = outcomeWithin(part, whole)
    const { code, message, rows } = part.event.build(outcome)
    const [first] = outcome === NOT_RUN ? [] : (rows ?? [])
    return {
      ...{ code, message, resourceType: part.resourceType },
      ...(first === undefined ? {} : { rows: first }),
      ...(part.content === undefined ? {} : { content: part.content }),
    }
  })
}

function outcomeWithin({ event, outcome }: EventPart, whole: Outcome): Outcome {
  if (outcome !== SUCCESS || whole === SUCCESS || !event.hasWritten) return outcome
  return whole === OUTCOME_UNKNOWN || mayBeStoredCode(whole.failure) ? OUTCOME_UNKNOWN : ROLLED_BACK
}
