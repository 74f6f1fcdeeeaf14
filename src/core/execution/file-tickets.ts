/** Tickets: sealed texts that allow an upload or a download of one file for a while, without a credential. */
import type { Barrier } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { type ErrorCode, Fault, fault } from '../errors.ts'
import { TICKET_MINUTES } from '../limits.ts'
import type { Caller } from '../policy/caller.ts'
import type { RootKeySet } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { LONG_FORMAT, openEntry, readVersion, sealEntry } from '../sealing/envelope.ts'
import { ByteWriter, readUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { fromBase64Url, toBase64Url } from '../util/text.ts'
import { nowMs } from '../util/time.ts'
import type { OperationContext } from './context.ts'

/** What a ticket allows, to whom it was issued, and until when. */
export interface Ticket {
  readonly direction: 'upload' | 'download'
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly table: string
  readonly column: string
  /** Id of the record; undefined to upload to a new one. */
  readonly id: string | undefined
  /** Row id of the file to download, or reserved for the upload. */
  readonly file: number
  /** Who asked for the ticket. What is done with it is done by this caller's grants, and recorded as theirs. */
  readonly caller: Pick<Caller, 'actor' | 'actorType' | 'roles' | 'context'>
}

/** A ticket as callers get it. */
export interface IssuedTicket {
  /** URL-safe text. */
  readonly ticket: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Maximum length of a ticket, in UTF-16 units. Longer text is rejected without further checks, and none is issued. */
const MAX_TICKET_LENGTH = 64 * 1024

/** Seals a ticket of the session's caller. It expires after TICKET_MINUTES. Throws `limit_exceeded` if roles and context are too long for one. */
export function issueTicket(
  context: Pick<OperationContext, 'barrier' | 'clock' | 'caller'>,
  grant: Pick<Ticket, 'direction' | 'table' | 'column' | 'id' | 'file'>,
): IssuedTicket {
  const { actor, actorType, roles, context: attributes } = context.caller
  const caller = { actor, actorType, roles, ...(attributes === undefined ? {} : { context: attributes }) }
  const expiresAt = nowMs(context) + TICKET_MINUTES * 60_000
  const out = new ByteWriter(512)
  out.utf8(JSON.stringify({ ...grant, expiresAt, caller } satisfies Ticket))
  const { ring, vault } = context.barrier
  const sealed = sealEntry({ ring, vault, kind: 'ticket', id: 0 }, out.written())
  const ticket = toBase64Url(sealed)
  if (ticket.length > MAX_TICKET_LENGTH)
    throw fault('limit_exceeded')`The roles and the context of this caller are too long for a ticket. Shorten them.`
  return { ticket, expiresAt }
}

/** Length of the text that the header of a ticket takes: 4 digits are 3 bytes. */
const HEADER_LENGTH = 4

/**
 * True for a text whose header names a root key that is newer than all that this process knows: another process may have issued the ticket after a
 * rotation. An attacker can write such a text, too.
 */
export function namesNewerKey({ roots }: RootKeySet, text: unknown): boolean {
  if (typeof text !== 'string' || text.length > MAX_TICKET_LENGTH) return false
  const header = fromBase64Url(text.slice(0, HEADER_LENGTH))
  return header?.[0] === LONG_FORMAT && readVersion(header, 0, header.length) > at(roots, roots.length - 1).version
}

/**
 * Reads the catalog again if a ticket names a newer root key. Calls share readings, so a flood of such texts costs one small reading at a time; the event
 * of each refusal costs more.
 */
export async function learnTicketKey(
  catalog: Pick<CatalogFence, 'keys' | 'reload'>,
  storage: StorageReads,
  text: unknown,
): Promise<void> {
  if (namesNewerKey(catalog.keys, text)) await catalog.reload(storage)
}

/** Returns what a ticket says; undefined for a text that is no ticket of this vault and direction, or one that has expired. */
export function openTicket(
  { barrier, clock }: { readonly barrier: Pick<Barrier, 'ring' | 'vault'>; readonly clock: OperationContext['clock'] },
  text: unknown,
  direction: Ticket['direction'],
): Ticket | undefined {
  if (typeof text !== 'string' || text.length > MAX_TICKET_LENGTH) return undefined
  const sealed = fromBase64Url(text)
  const plaintext =
    sealed === undefined ? undefined : openEntry({ ring: barrier.ring, vault: barrier.vault, kind: 'ticket', id: 0 }, sealed)
  if (plaintext === undefined) return undefined
  // It was authenticated, so it is what `issueTicket` wrote.
  const ticket = JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as Ticket
  return ticket.direction === direction && nowMs({ clock }) < ticket.expiresAt ? ticket : undefined
}

/** Returns the ticket. Throws the one error of tickets. */
export function requireTicket(ticket: Ticket | undefined): Ticket {
  if (ticket === undefined) throw invalidTicket()
  return ticket
}

/** The one error of tickets: altered, expired or used, or of a file or record that is gone, was replaced, or is not open to the caller any more. */
export function invalidTicket(): Fault {
  return fault('not_found')`This ticket is not valid, or not any more. Ask for a new one.`
}

/** Runs work with a ticket. Faults of these codes become the one error of tickets. */
export async function refusedAlike<T>(codes: ReadonlySet<ErrorCode>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw Fault.isFault(error) && codes.has(error.code) ? invalidTicket() : error
  }
}
