/** The files of an open vault: their stores, their scans, and what tickets open. */
import type { Barrier } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import type { SessionContext, SessionFiles } from '../execution/context.ts'
import { learnTicketKey, namesNewerKey, openTicket, type Ticket } from '../execution/file-tickets.ts'
import { perform } from '../execution/perform.ts'
import { databaseBlobs } from '../file-store/database-blobs.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import { storeCurrent } from '../maintenance/store-current.ts'
import { type OpenFileOptions, type OpenFileResult, openByTicket } from '../operations/open-file.ts'
import { type UploadedFile, type UploadFileInput, type UploadFileOptions, uploadByTicket } from '../operations/upload-file.ts'
import { type Caller, parseCaller, type RequestContext, UNKNOWN_CALLER, VAULT_CALLER } from '../policy/caller.ts'
import type { Log } from '../ports/observability.ts'
import type { Storage } from '../ports/storage.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { OpenOptions } from './options.ts'
import type { OutsideCalls } from './outside-calls.ts'
import { createScanWorker, type ScanWorker } from './scan-worker.ts'
import { toTicketUpload } from './session-input.ts'

/** The dependencies of a vault's files. */
interface FilePorts {
  readonly barrier: Barrier
  readonly catalog: CatalogFence
  readonly live: LiveSchema
  readonly log: Log | undefined
  readonly jobs: Jobs
  contextOf(caller: Caller): SessionContext
  readonly outside: OutsideCalls['run']
}

/** An upload by ticket: its content, its name and its options. */
export type UploadByTicket = Pick<UploadFileInput, 'file' | 'fileName'> & UploadFileOptions

/** The files of a vault. */
export interface VaultFiles {
  /** As sessions have them, outside and inside a transaction. */
  readonly outer: SessionFiles
  readonly inTransaction: SessionFiles
  /** Undefined without a scanner, and without a column that holds files. */
  readonly scans: ScanWorker | undefined
  download(ticket: unknown, options?: OpenFileOptions, request?: RequestContext): Promise<OpenFileResult>
  upload(ticket: unknown, given: UploadByTicket, request?: RequestContext): Promise<UploadedFile>
  /** Ends the scans in progress. */
  stop(): Promise<void>
}

/** Returns the files of a vault, and begins the scans that are due. */
export function createVaultFiles<S extends SchemaDefinition>(options: OpenOptions<S>, ports: FilePorts): VaultFiles {
  const { storage, clock, scheduler, contentTypes, scanner, onInfected = 'quarantine', timer } = options
  const { barrier, catalog, live, log, jobs } = ports
  const blobs = options.blobs ?? databaseBlobs(storage)
  const hasFiles = [...live.layout.tables.values()].some(({ files }) => files.length > 0)
  const reloadKeys = (): Promise<void> => catalog.reload(storage)
  const underNewestKeys = <T>(work: (inner: Storage) => Promise<T>): Promise<T> => storeCurrent({ storage, catalog }, work)
  const reading = { barrier, clock, scheduler, storage, blobs, contentTypes, reloadKeys, underNewestKeys }
  const session = (): SessionContext => ports.contextOf(VAULT_CALLER)
  const scans =
    scanner === undefined || !hasFiles
      ? undefined
      : createScanWorker({ files: reading, scanner, onInfected, timer, log, session, jobs })
  const outer = {
    ...reading,
    hasScanner: scanner !== undefined,
    isInTransaction: false,
    wakeScans: () => scans?.wake(),
  }
  const callerOf = (ticket: Ticket | undefined, request: RequestContext | undefined): SessionContext => {
    const caller = ticket === undefined ? UNKNOWN_CALLER : ticket.caller
    return ports.contextOf(parseCaller(request === undefined ? caller : { ...caller, request }))
  }
  const ticketOf = async (text: unknown, direction: Ticket['direction']): Promise<Ticket | undefined> => {
    if (namesNewerKey(catalog.keys, text))
      await ports.outside('The ticket could not be opened.', () => learnTicketKey(catalog, storage, text))
    return openTicket({ barrier, clock }, text, direction)
  }
  scans?.wake()
  return {
    outer,
    inTransaction: { ...outer, isInTransaction: true },
    scans,
    async download(text, opening, request) {
      const ticket = await ticketOf(text, 'download')
      return perform(callerOf(ticket, request), openByTicket(ticket), opening === undefined ? {} : { options: opening })
    },
    async upload(text, given, request) {
      const upload = toTicketUpload(given)
      const ticket = await ticketOf(text, 'upload')
      return perform(callerOf(ticket, request), uploadByTicket(ticket), upload)
    },
    stop: async () => scans?.stop(),
  }
}
