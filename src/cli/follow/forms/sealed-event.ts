/** An event as its line has it: what is digested, with its place in its chain. */

import type { AnyVault } from '../../config/any-vault.ts'

type Batch = ReturnType<AnyVault['followAudit']> extends AsyncIterable<infer One> ? One : never

/** An event that is followed. */
export type FollowedEvent = Batch['events'][number]

/** The parsed line. */
export interface SealedEvent {
  /** 64 hex digits. */
  readonly digest: string
  /** The text whose digest it is. */
  readonly text: string
  readonly event: {
    readonly accountID: string
    readonly action: string
    readonly changeID: string
    readonly code: number
    readonly content?: string
    readonly context: {
      readonly requestID: string
      readonly traceID: string
      readonly actor: string
      readonly actorType: 'USER' | 'SERVICE_ACCOUNT'
      readonly accessType: string
      readonly ipAddress: string
      readonly authMode: string
      readonly sessionID?: string
      readonly origin?: string
      readonly keyID?: string
      readonly purpose?: string
      readonly userEmail?: string
      readonly clientTraceID?: string
    }
    readonly message: string
    readonly position: { readonly chain: number; readonly sequence: number; readonly previous: string }
    readonly resourceType: string
    readonly timestamp: string
    readonly vaultID: string
  }
}

const TEXT_START = '{"digest":"","event":'.length + 64

/** Reads a line that the vault gave. */
export function readSealedEvent(line: string): SealedEvent {
  const parsed = JSON.parse(line) as Omit<SealedEvent, 'text'> // A line of the vault has these members.
  return { ...parsed, text: line.slice(TEXT_START, -1) }
}

/** Returns the resources of an event as their kinds and ids. */
export function resourcesOf(listed: { readonly request: { readonly resources: readonly string[] } } | undefined) {
  return (listed?.request.resources ?? []).map((resource) => {
    const slash = resource.indexOf('/')
    return { type: resource.slice(0, slash), uid: resource.slice(slash + 1) }
  })
}
