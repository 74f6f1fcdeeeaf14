/** What failed: the vault's own sentence, the id of the request, and another try. */
import { ApiError } from '../app/api.ts'

/** What a failure is made of. */
export interface FailureProps {
  readonly error: unknown
  /** The word on the button. Default: Try again. */
  readonly action?: string
  retry?(): void
}

/** Says what failed. */
export function Failure({ error, retry, action = 'Try again' }: FailureProps) {
  const requestID = error instanceof ApiError ? error.requestID : ''
  return (
    <div class="note bad" role="alert">
      <div>
        <b dir="auto">{messageOf(error)}</b>
        {requestID === '' ? null : <p class="mono">request {requestID}</p>}
      </div>
      {retry === undefined ? null : (
        <button type="button" class="button small" onClick={retry}>
          {action}
        </button>
      )}
    </div>
  )
}

/** Returns the sentence of an error. One that is not the vault's says nothing of a value. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'The console failed here. Reload it and sign in again.'
}
