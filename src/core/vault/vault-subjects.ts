/** The people that records are about, as an application finds, exports and forgets them. */
import { signatureBytes } from '../audit/checkpoint.ts'
import { type Receipt, receiptBytes, signedReceipt } from '../audit/receipt.ts'
import { isSigner } from '../audit-log/audit-trail.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { parseFlag } from '../execution/check-input.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform, withVerb } from '../execution/perform.ts'
import { type Caller, type CallerIn, parseCaller, VAULT_CALLER } from '../policy/caller.ts'
import type { BuiltInRole } from '../policy/statement.ts'
import type { Signer } from '../ports/crypto.ts'
import type { SchemaDescription } from '../schema/describe-schema.ts'
import { findSubject, type SubjectCounts } from '../subjects/find-subject.ts'
import { forgetSubject } from '../subjects/forget-subject.ts'
import { eachForgotten, updateForgotten } from '../subjects/forgotten-rows.ts'
import type { RunCallback } from '../util/boundary.ts'
import { readOptions } from '../util/options.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import type { OutsideCalls } from './outside-calls.ts'
import { subjectLines } from './subject-lines.ts'

/** Options of `vault.subjects.export`. */
export interface ExportSubjectOptions {
  /** True for the contents of files, in base64, a piece a line. Default false: files are named, and `openFile` of a session opens them. */
  readonly contents?: boolean
  /** True for the ids of the events that name a record of the subject. Reads the whole trail, and needs AUDIT. Default false. */
  readonly events?: boolean
  /** An `AbortSignal`. When it is aborted, the export throws `cancelled`; it has no manifest then. */
  readonly signal?: Signal
}

/** Options of `vault.subjects.forget`. */
export interface ForgetOptions {
  /** Why the subject is forgotten, for its receipt: 1 to 1,000 characters, such as the number of the request. No name. */
  readonly reason: string
  /** Signs the receipt, such as `localSigner({ … })`. */
  readonly signer?: Signer
}

/** Options of `vault.subjects.forgotten`. */
export interface ForgottenOptions {
  /** Milliseconds since 1970: only what was forgotten at that time or later. Default: all. */
  readonly since?: number
}

/** A subject that was forgotten: what forgets it again, and its receipt. */
export interface ForgottenRecord {
  readonly kind: string
  readonly id: string
  readonly receipt: Receipt
}

/** The methods for subjects. Source: docs/subjects.md. */
export interface VaultSubjects<Role extends string = string> {
  readonly subjects: {
    /**
     * Returns how many records of each table are of one subject: a kind of the schema, and the id of its record. Needs READ on all columns of all its tables,
     * for every record; else `forbidden`. Throws `not_found` for another kind or id.
     */
    find<const Named extends Role | BuiltInRole | (string & {})>(
      caller: CallerIn<Role, Named>,
      kind: string,
      id: string,
    ): Promise<SubjectCounts>
    /**
     * Yields all records of a subject as lines of NDJSON, without line ends, at the levels of the caller, and a manifest as the last one. Each list of records
     * is a read with an event of its own. Needs what `find` needs.
     */
    export<const Named extends Role | BuiltInRole | (string & {})>(
      caller: CallerIn<Role, Named>,
      kind: string,
      id: string,
      options?: ExportSubjectOptions,
    ): AsyncIterable<string>
    /**
     * Deletes all records of a subject in one transaction with one event: the records, their tokens and transient values; then the contents of their files.
     * Returns a receipt. Called again, deletes what was inserted since. Needs DELETE on all columns of all its tables, for every record; else `forbidden`.
     * Throws `not_found` for a subject that never was, and `failed_precondition` for a record under legal hold. If the signer rejects, the subject is forgotten, and a call again signs another receipt.
     */
    forget<const Named extends Role | BuiltInRole | (string & {})>(
      caller: CallerIn<Role, Named>,
      kind: string,
      id: string,
      options: ForgetOptions,
    ): Promise<Receipt>
    /** Yields the subjects that were forgotten, in order: what to forget again after a restore. Needs no caller and records no event, for operators. */
    forgotten(options?: ForgottenOptions): AsyncIterable<ForgottenRecord>
  }
}

/** The dependencies of these methods. */
interface SubjectPorts {
  readSchema(): SchemaDescription
  readonly outside: OutsideCalls
  contextOf(caller: Caller): SessionContext
}

export function createVaultSubjects<Role extends string>({ readSchema, outside, contextOf }: SubjectPorts): VaultSubjects<Role> {
  const sessionOf = (verb: string, caller: Caller): SessionContext => withVerb(verb, () => contextOf(parseCaller(caller)))
  return {
    subjects: {
      find: (caller, kind, id) =>
        outside.run('Find subject failed.', () => perform(sessionOf('Find subject', caller), findSubject, { kind, id })),
      export: (caller, kind, id, given = {}) =>
        outside.stream('Export', () => {
          const { contents, events, signal } = readOptions<ExportSubjectOptions>(given, ['contents', 'events', 'signal'], {
            of: 'subjects.export',
          })
          return subjectLines(contextOf(parseCaller(caller)), readSchema(), {
            kind,
            id,
            contents: parseFlag(contents, 'contents'),
            events: parseFlag(events, 'events'),
            signal: parseSignal(signal),
          })
        }),
      forget: (caller, kind, id, given) =>
        outside.run('Forget failed.', async (run) => {
          const { reason, signer } = readOptions<ForgetOptions>(given, ['reason', 'signer'], { of: 'subjects.forget' })
          if (signer !== undefined && !isSigner(signer))
            throw fault('invalid_request')`Forget failed. signer must be a signer, such as that of localSigner().`
          const session = sessionOf('Forget', caller)
          const { receipt, row } = await perform(session, forgetSubject, { kind, id, reason })
          const whole = signer === undefined ? receipt : await sign(receipt, signer, run)
          await session.files.underNewestKeys((inner) => updateForgotten(inner, session.barrier, row, whole))
          return whole
        }),
      forgotten: (given = {}) =>
        outside.stream('Forgotten', () => {
          const { since = 0 } = readOptions<ForgottenOptions>(given, ['since'], { of: 'subjects.forgotten' })
          if (!Number.isSafeInteger(since)) throw fault('invalid_request')`since must be milliseconds since 1970.`
          return listForgotten(contextOf(VAULT_CALLER), since)
        }),
    },
  }
}

/** Returns the receipt signed. A verifier would refuse a signature of another length, when it is too late to sign again. */
async function sign(receipt: Receipt, signer: Signer, run: RunCallback): Promise<Receipt> {
  const signed = signedReceipt(receipt, signer, await run(async () => signer.sign(receiptBytes(receipt))))
  if (signed.signature !== undefined && signatureBytes(signed.signature) !== undefined) return signed
  throw fault('failed_precondition')`Forget failed. The signer returned a signature of another length than its algorithm has.`
}

async function* listForgotten(session: SessionContext, since: number): AsyncGenerator<ForgottenRecord> {
  const { barrier, files, scheduler, catalog } = session
  for await (const { tableId, rowId, receipt } of eachForgotten({ storage: files.storage, barrier, scheduler, catalog }, since)) {
    const [id = ''] = encodeRecordIds(barrier.ring, { objectId: tableId }, [rowId])
    yield { kind: receipt.kind, id, receipt }
  }
}
