/** How long the storage waits for PostgreSQL, and the statements that set the server's part of it. */
import { VaultError } from '../../core/errors.ts'
import { assertOptions } from '../../core/util/options.ts'

/** Time limits in milliseconds, each a whole number from 1 to 2,147,483,647. */
export interface PostgresTimeouts {
  /** Longest wait for a connection, new or from the pool. Default 30,000, or 5,000 more than `statementMs` if that is less. */
  readonly connectMs?: number
  /**
   * Longest run of a statement on the server, which then rolls it back. Default 60,000, unless the role, the database or the connection
   * string sets `statement_timeout`. If no answer arrives in twice this time, at most 5 seconds more, the connection is closed.
   */
  readonly statementMs?: number
  /**
   * Longest pause between two statements of a transaction, after which the server ends it. Default 60,000, unless
   * `idle_in_transaction_session_timeout` is set. This is how long locks of a process remain whose network went silent.
   */
  readonly idleInTransactionMs?: number
  /** Longest wait of `close()` for running calls. Then their connections are closed. Default 10,000. */
  readonly closeMs?: number
}

/** All limits, and the settings of the server that follow from them. */
export interface Timeouts {
  readonly connectMs: number
  readonly closeMs: number
  /** How long a connection may leave a statement without an answer. */
  readonly silenceMs: number
  readonly settings: readonly Setting[]
}

/** A setting of the server in milliseconds. One that was not asked for yields to a value that is set elsewhere. */
interface Setting {
  readonly name: 'statement_timeout' | 'idle_in_transaction_session_timeout'
  readonly ms: number
  readonly isDefault: boolean
}

const DEFAULTS: Readonly<Required<PostgresTimeouts>> = {
  connectMs: 30_000,
  statementMs: 60_000,
  idleInTransactionMs: 60_000,
  closeMs: 10_000,
}
/** Time at most for an answer to arrive after the server's own limit. */
const MAX_TRANSPORT_MS = 5_000
/** Highest value of a setting of PostgreSQL, and of a timer. */
const MAX_MS = 2_147_483_647

/** The limits to use. Throws `invalid_request` for one that is not a whole number of milliseconds. */
export function parseTimeouts(given: PostgresTimeouts = {}): Timeouts {
  assertOptions<PostgresTimeouts>(given, Object.keys(DEFAULTS) as (keyof PostgresTimeouts)[], {
    of: 'postgresStorage',
    member: 'timeouts',
  })
  for (const [name, ms] of Object.entries(given)) assertTimeout(name, ms)
  const { statementMs, idleInTransactionMs, closeMs } = { ...DEFAULTS, ...given }
  return {
    connectMs: given.connectMs ?? Math.min(DEFAULTS.connectMs, statementMs + MAX_TRANSPORT_MS),
    closeMs,
    silenceMs: Math.min(MAX_MS, statementMs + Math.min(statementMs, MAX_TRANSPORT_MS)),
    settings: [
      { name: 'statement_timeout', ms: statementMs, isDefault: given.statementMs === undefined },
      {
        name: 'idle_in_transaction_session_timeout',
        ms: idleInTransactionMs,
        isDefault: given.idleInTransactionMs === undefined,
      },
    ],
  }
}

function assertTimeout(name: string, ms: unknown): void {
  if (ms === undefined || (typeof ms === 'number' && Number.isInteger(ms) && ms >= 1 && ms <= MAX_MS)) return
  throw new VaultError('invalid_request', `timeouts.${name} must be a whole number of milliseconds from 1 to ${MAX_MS}.`)
}

/** The statements that set the limits of a session, or of the transaction that is open. */
export function settingStatements({ settings }: Timeouts, scope: 'session' | 'transaction'): string {
  const isLocal = scope === 'transaction'
  return settings
    .map(({ name, ms, isDefault }) =>
      isDefault
        ? `select pg_catalog.set_config('${name}', '${ms}', ${isLocal}) where pg_catalog.current_setting('${name}') = '0'`
        : `set ${isLocal ? 'local ' : ''}${name} = ${ms}`,
    )
    .join('; ')
}
