/** What a caller asks of the whole vault, where an application asks without one: the same calls, behind the caller's grants. */
import type { VerificationResult } from '../audit/chain-verifier.ts'
import type { ActionType } from '../audit/event.ts'
import type { RecordedShape } from '../audit/record-shape.ts'
import type { OperationInput as InputOf, OperationName as NameOf, OperationResult as ResultOf } from '../batch/perform-named.ts'
import { fault, isVaultError } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { describe } from '../execution/describe.ts'
import { assertAuditor, assertOwner } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { perform, withVerbOf } from '../execution/perform.ts'
import type { MaintenanceJob } from '../maintenance/jobs.ts'
import type { KeyRotation } from '../rotation/rotate-keys.ts'
import type { SchemaPlan } from '../schema-change/schema-plan.ts'
import type { Progress } from '../util/boundary.ts'
import { createAbortable } from '../util/signal.ts'
import { nowMs } from '../util/time.ts'
import type { WatchOptions } from './outside-calls.ts'
import type { DestroyKeyOptions, KeyReport, KeysOptions, RotateKeysOptions, VaultKeys } from './vault-keys.ts'
import type { VaultContents, VaultOverview } from './vault-overview.ts'

/** The calls of a vault that callers reach, and the plan from the stored schema to that of this process; null where they agree. */
export interface Administered extends Pick<VaultKeys, 'keys' | 'rotateKeys' | 'destroyKey'>, VaultOverview {
  maintenance(): Promise<readonly MaintenanceJob[]>
  verifyAudit(options: WatchOptions): Promise<VerificationResult>
  ping(): Promise<unknown>
  planOwnSchema(): Promise<SchemaPlan | null>
}

/** A line of a verification: how far it is, and at last what it found. */
export type VerificationLine =
  | { readonly progress: Progress }
  | { readonly result: VerificationResult; readonly milliseconds: number }

/** Whether a vault can serve. */
export interface Health {
  readonly ok: boolean
  readonly checks: readonly { readonly name: 'storage'; readonly ok: boolean; readonly milliseconds: number }[]
}

/** A plan as a caller has it, without the schema, which is that of this process. */
export type SchemaDifference = Omit<SchemaPlan, 'schema' | 'moves'>

/** One call. */
interface AdministrativeCall<Given extends object, Result> {
  /** That of its event; of a refusal alone, unless it is recorded. */
  readonly action: ActionType
  readonly verb: string
  /** What it needs; undefined for any caller. */
  readonly grant: 'ALL' | 'AUDIT' | undefined
  /** The members of the input, as its event has them. */
  readonly recorded: Readonly<Record<keyof Given & string, RecordedShape>>
  /** True if the call itself has an event, which says who asked: what it changes is recorded by the vault, step by step. */
  readonly isRecorded: boolean
  run(vault: Administered, given: Given, context: SessionContext): Promise<Result>
}

/** The type of an input without members. */
type Nothing = Readonly<Record<never, never>>

function call<Given extends object, Result>(made: AdministrativeCall<Given, Result>): AdministrativeCall<Given, Result> {
  return made
}

/** What reads what an operator looks at, again and again: only refusals are recorded. */
const OWNER_READS = { action: 'REQUEST', grant: 'ALL', isRecorded: false } as const

/** The calls by their names. */
export const CALLS = {
  describeKeys: call<Pick<KeysOptions, 'count'>, KeyReport>({
    ...OWNER_READS,
    verb: 'Keys',
    recorded: { count: 'flag' },
    run: (vault, given) => vault.keys(given),
  }),
  listJobs: call<Nothing, { readonly jobs: readonly MaintenanceJob[] }>({
    ...OWNER_READS,
    verb: 'The list of jobs',
    recorded: {},
    run: async (vault) => ({ jobs: await vault.maintenance() }),
  }),
  describeContents: call<Nothing, VaultContents>({
    ...OWNER_READS,
    verb: 'Counting',
    recorded: {},
    run: (vault) => vault.contents(),
  }),
  describeSchemaChange: call<Nothing, { readonly plan: SchemaDifference | null }>({
    ...OWNER_READS,
    verb: 'Plan',
    recorded: {},
    async run(vault) {
      const plan = await vault.planOwnSchema()
      if (plan === null) return { plan }
      const { schema: _, moves: __, ...difference } = plan
      return { plan: difference }
    },
  }),
  rotateKeys: call<Pick<RotateKeysOptions, 'settleMs' | 'dryRun' | 'pace'>, KeyRotation>({
    action: 'ROTATE_KEYS',
    grant: 'ALL',
    isRecorded: true,
    verb: 'Rotation',
    recorded: { settleMs: 'number', dryRun: 'flag', pace: 'number' },
    run: (vault, given) => vault.rotateKeys(given),
  }),
  destroyKey: call<
    { readonly version: number } & Pick<DestroyKeyOptions, 'losing'>,
    { readonly version: number; readonly lost: number }
  >({
    action: 'DESTROY_KEY',
    grant: 'ALL',
    isRecorded: true,
    verb: 'Destroying the key',
    recorded: { version: 'number', losing: 'number' },
    run: (vault, { version, ...options }) => vault.destroyKey(version, options),
  }),
  verifyAudit: call<Nothing, AsyncIterable<VerificationLine>>({
    action: 'VERIFY_AUDIT',
    grant: 'AUDIT',
    isRecorded: true,
    verb: 'Verify',
    recorded: {},
    run: async (vault, _, context) => verificationLines(vault, context),
  }),
  health: call<Nothing, Health>({
    action: 'REQUEST',
    grant: undefined,
    isRecorded: false,
    verb: 'Health',
    recorded: {},
    async run(vault, _, context) {
      const start = nowMs(context)
      const ok = await vault.ping().then(
        () => true,
        (error: unknown) => {
          if (isVaultError(error, 'unavailable')) return false
          throw error
        },
      )
      return { ok, checks: [{ name: 'storage', ok, milliseconds: nowMs(context) - start }] }
    },
  }),
} as const

type Calls = typeof CALLS
type CallName = keyof Calls
type GivenOf<Name extends CallName> = Calls[Name] extends AdministrativeCall<infer Given, infer _Result> ? Given : never
type AnswerOf<Name extends CallName> = Calls[Name] extends AdministrativeCall<infer _Given, infer Result> ? Result : never

/** The name of an operation that a session performs. */
export type OperationName = NameOf | CallName

/** The input of an operation, by its name. */
export type OperationInput<Name extends OperationName> = Name extends CallName
  ? GivenOf<Name>
  : Name extends NameOf
    ? InputOf<Name>
    : never

/** The result of an operation, by its name. */
export type OperationResult<Name extends OperationName> = Name extends CallName
  ? AnswerOf<Name>
  : Name extends NameOf
    ? ResultOf<Name>
    : never

/** A session, and the vault that it is of; undefined inside a transaction, where nothing is asked of the vault as a whole. */
export interface Performing {
  readonly context: SessionContext
  readonly vault: Administered | undefined
}

/** Makes a call of the vault. Throws `forbidden` for one that the caller's grants do not allow, which is recorded. */
export async function makeCall({ context, vault }: Performing, name: CallName, given: unknown): Promise<unknown> {
  // The call checks its input.
  const input = given as never
  const asked: AdministrativeCall<never, unknown> = CALLS[name]
  if (vault === undefined)
    throw withVerbOf(asked, fault('failed_precondition')`It is not part of a transaction. Use a session of the vault itself.`)
  const { action, verb, grant, recorded, isRecorded } = asked
  const members = Object.keys(recorded) as never[]
  const run = () => asked.run(vault, input, context)
  // The operation only records the call, with what comes of it.
  const record = (execute: Operation<object, undefined, void>['execute']) =>
    perform(context, { action, resourceType: 'VAULT', verb, members, recorded, parse: () => undefined, execute }, input)
  const { access } = context.current()
  const isGranted = grant === undefined || (grant === 'ALL' ? access.allowsEverything : access.allowsAudit)
  if (isGranted && !isRecorded) return describe<object, unknown>(context, { verb, members, describe: run }, input)
  await record(async (current) => {
    if (grant === 'ALL') assertOwner(current)
    if (grant === 'AUDIT') assertAuditor(current)
  })
  try {
    return await run()
  } catch (error) {
    // The event of its beginning says that it was granted, which is not that it succeeded.
    return record(() => Promise.reject(error))
  }
}

/** Yields the lines of a verification. It ends with the one who reads them. */
async function* verificationLines(
  vault: Pick<Administered, 'verifyAudit'>,
  context: Pick<SessionContext, 'clock'>,
): AsyncGenerator<VerificationLine> {
  const start = nowMs(context)
  const { signal, abort } = createAbortable()
  let progress: Progress | undefined
  let wake = (): void => {}
  let isDone = false
  const work = vault
    .verifyAudit({
      signal,
      onProgress: (now) => {
        progress = now
        wake()
      },
    })
    .finally(() => {
      isDone = true
      wake()
    })
  work.catch(() => {})
  try {
    while (!isDone) {
      await new Promise<void>((resolve) => {
        wake = resolve
        if (progress !== undefined || isDone) resolve()
      })
      // Only the newest: a slow reader is not sent what is over.
      if (progress !== undefined) yield { progress }
      progress = undefined
    }
    yield { result: await work, milliseconds: nowMs(context) - start }
  } finally {
    abort()
  }
}
