/** The forms in which events are sent. */
import type { Message } from '../target.ts'
import { toCef } from './cef.ts'
import { toOcsf } from './ocsf.ts'
import { type FollowedEvent, readSealedEvent, type SealedEvent } from './sealed-event.ts'

/** A form. */
export interface Form {
  /** True if it has record ids. */
  readonly needsListed: boolean
  /** True if a message is a JSON value. */
  readonly isJson: boolean
  /** The media type of one message a line. */
  readonly mediaType: string
  write(event: FollowedEvent): Message
}

export const FORM_NAMES = ['event', 'ocsf', 'cef'] as const

/** The forms by name. */
export const FORMS: Readonly<Record<(typeof FORM_NAMES)[number], Form>> = {
  // The line itself, so that the verifier accepts what was delivered.
  event: formOf((_, { line }) => line, { needsListed: false, isJson: true, mediaType: 'application/x-ndjson' }),
  ocsf: formOf((sealed, event) => JSON.stringify(toOcsf(sealed, event)), {
    needsListed: true,
    isJson: true,
    mediaType: 'application/x-ndjson',
  }),
  cef: formOf(toCef, { needsListed: true, isJson: false, mediaType: 'text/plain; charset=utf-8' }),
}

function formOf(write: (sealed: SealedEvent, event: FollowedEvent) => string, rest: Omit<Form, 'write'>): Form {
  return {
    ...rest,
    write(event) {
      const sealed = readSealedEvent(event.line)
      const { timestamp, action, code } = sealed.event
      return { text: write(sealed, event), timestamp, action, code }
    },
  }
}
