/** The members that most events share with the event before them, and the bytes they were written as. */
import type { EventContext, EventDraft } from './event.ts'

/** The members of an event from `code` to the one before `requestID`, in canonical order. */
export type Outset = Pick<EventDraft, 'code' | 'content'> & { readonly context: OutsetContext }

/** The members of a context before `requestID`. */
type OutsetContext = Omit<EventContext, 'requestID' | 'sessionID' | 'subject' | 'traceID' | 'userEmail'>

/** Length of bytes that are kept. More would cost as much memory as they save time. */
const MAX_KEPT_BYTES = 1024

/** Keeps the last outset in one form. */
export class KeptOutset {
  #last: { readonly outset: Outset; readonly bytes: Uint8Array } | undefined

  /** Returns what an equal outset was written as, if it was the last. */
  bytesOf(outset: Outset): Uint8Array | undefined {
    const last = this.#last
    return last !== undefined && isSameOutset(last.outset, outset) ? last.bytes : undefined
  }

  /** Returns the last outset if it was written as the bytes from an offset on. */
  at(bytes: Uint8Array, start: number): { readonly outset: Outset; readonly bytes: Uint8Array } | undefined {
    const last = this.#last
    if (last === undefined || start + last.bytes.length > bytes.length) return undefined
    for (let i = 0; i < last.bytes.length; i++) if (last.bytes[i] !== bytes[start + i]) return undefined
    return last
  }

  /** Keeps the outset that was written as the bytes from `start` to `end`, if they are few. */
  keep({ code, content, context }: Outset, bytes: Uint8Array, start: number, end: number): void {
    if (end - start <= MAX_KEPT_BYTES) this.#last = { outset: { code, content, context }, bytes: bytes.slice(start, end) }
  }
}

function isSameOutset(left: Outset, right: Outset): boolean {
  return left.code === right.code && left.content === right.content && isSameCaller(left.context, right.context)
}

/** True if both have the same members before `requestID`. */
function isSameCaller(left: OutsetContext, right: OutsetContext): boolean {
  return (
    left.accessType === right.accessType &&
    left.actor === right.actor &&
    left.actorType === right.actorType &&
    left.authMode === right.authMode &&
    left.bearerTokenContextID === right.bearerTokenContextID &&
    left.clientTraceID === right.clientTraceID &&
    left.ipAddress === right.ipAddress &&
    left.jwtID === right.jwtID &&
    left.keyID === right.keyID &&
    left.origin === right.origin
  )
}
