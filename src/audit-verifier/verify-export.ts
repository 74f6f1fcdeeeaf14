/** Verifies an exported or delivered audit trail without the vault, its keys or its storage. Reads line by line, in constant memory. */
import { systemHash } from '../adapters/system/system.ts'
import { ChainVerifier, type TreeHead } from '../core/audit/chain-verifier.ts'
import { findDivergence, parseCheckpoint, positionsOf, type SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { type ExportCounts, type ExportLine, readExportLine } from '../core/audit/export-lines.ts'
import { VaultError } from '../core/errors.ts'
import type { SignatureVerifier } from '../core/ports/crypto.ts'
import { readInput } from '../core/util/boundary.ts'
import { toHex } from '../core/util/bytes.ts'
import { unreachable } from '../core/util/causes.ts'
import { required } from '../core/util/lists.ts'
import { assertOptions } from '../core/util/options.ts'
import { createVerifiers, isSigned, type VerifierKey } from './checkpoints.ts'
import { DeliveredTrail } from './delivered-trail.ts'

/** How long lines are verified before the event loop turns. */
const MAX_BLOCK_MS = 8

/** What an export is verified with. */
export interface VerifyExportOptions {
  /** Checkpoints stored elsewhere. Without one, a truncated trail, or one rewritten from some position on, is not detected. */
  readonly checkpoints?: readonly SignedCheckpoint[]
  /** Public keys. Every checkpoint, given or in the export, must be signed by one of them. Without keys, signatures are not checked. */
  readonly keys?: readonly VerifierKey[]
  /**
   * True for lines that a follower delivered, of files one after the other from the first on: events alone, chains in any mix, some of them twice. They have
   * no end, so that only a checkpoint shows that the last ones were removed. Default false: the lines are those of `exportAudit`.
   */
  readonly delivered?: boolean
}

/** Where an export differs from what was written, and why. */
export interface ExportFailure {
  /** Line of the export, from 1. Absent if the export differs from a checkpoint. */
  readonly line?: number
  readonly chain?: number
  readonly sequence?: number
  readonly changeID?: string
  /** A sentence. */
  readonly reason: string
}

/** The result of a verification. */
export interface ExportVerificationResult {
  readonly ok: boolean
  /** Number of events read. */
  readonly eventCount: number
  /** Number of checkpoints that the trail continues; 0 after a failure. */
  readonly checkpoints: number
  readonly firstFailure?: ExportFailure
}

/**
 * Verifies the lines of an export. Throws `invalid_request` for invalid keys and checkpoints. What is wrong with the
 * lines is in the result. An error of reading them is rethrown unchanged.
 */
export async function verifyExport(
  lines: AsyncIterable<string> | Iterable<string>,
  options: VerifyExportOptions = {},
): Promise<ExportVerificationResult> {
  if (typeof lines === 'string') {
    throw new VaultError('invalid_request', 'verifyExport expects the lines of an export, not one text. Split it at line ends.')
  }
  if (!isIterable(lines)) throw new VaultError('invalid_request', 'verifyExport expects an iterable of the lines of an export.')
  const { checkpoints, verifiers, delivered } = readInput(() => {
    assertOptions<VerifyExportOptions>(options, ['checkpoints', 'keys', 'delivered'], { of: 'verifyExport' })
    return parseOptions(options)
  }, VaultError.isGenuine)
  const verification = new Verification(checkpoints, verifiers, delivered)
  let began = performance.now()
  for await (const line of lines) {
    verification.take(line)
    if (verification.isOver) break
    if (performance.now() - began < MAX_BLOCK_MS) continue
    // Lines that are in memory already would be verified in one turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    began = performance.now()
  }
  return verification.end()
}

function isIterable(lines: unknown): boolean {
  if (typeof lines !== 'object' || lines === null) return false
  return readInput(() => Symbol.asyncIterator in lines || Symbol.iterator in lines)
}

function parseOptions({ checkpoints = [], keys, delivered = false }: VerifyExportOptions): {
  readonly checkpoints: readonly SignedCheckpoint[]
  readonly verifiers: readonly SignatureVerifier[] | undefined
  readonly delivered: boolean
} {
  if (typeof delivered !== 'boolean') throw new VaultError('invalid_request', 'verifyExport: delivered must be true or false.')
  const parsed = checkpoints.map((given, index) => {
    const signed = parseCheckpoint(given)
    if (signed === undefined) throw new VaultError('invalid_request', `checkpoints[${index}] is not a checkpoint.`, { index })
    return signed
  })
  return { checkpoints: parsed, verifiers: keys === undefined ? undefined : createVerifiers(keys), delivered }
}

/** The state of one verification. */
class Verification {
  readonly #given: readonly SignedCheckpoint[]
  readonly #verifiers: readonly SignatureVerifier[] | undefined
  readonly #heads: TreeHead[] = []
  readonly #inside: SignedCheckpoint[] = []
  /** The lines of a follower; undefined for those of an export. */
  readonly #delivered: DeliveredTrail | undefined
  #vaultID: string | undefined
  #check: ChainVerifier | undefined
  #events = 0
  #line = 0
  #hasEnded = false
  #failure: ExportFailure | undefined

  constructor(given: readonly SignedCheckpoint[], verifiers: readonly SignatureVerifier[] | undefined, isDelivered: boolean) {
    this.#given = given
    this.#verifiers = verifiers
    this.#delivered = isDelivered ? new DeliveredTrail(positionsOf(given)) : undefined
  }

  /** True after the first failure. Later ones are its consequences. */
  get isOver(): boolean {
    return this.#failure !== undefined
  }

  /** Verifies the next line. */
  take(text: string): void {
    this.#line++
    if (this.#hasEnded) {
      // A file that ends with a line end is often read with one more, empty line.
      if (text !== '') this.#fail(this.#delivered === undefined ? 'follows the end line' : 'follows an empty line')
      return
    }
    if (this.#delivered !== undefined) this.#takeDelivered(this.#delivered, text)
    else this.#takeLine(text)
  }

  #takeLine(text: string): void {
    const line = readExportLine(text)
    const problem = this.#line === 1 && line.kind !== 'header' ? 'is not the header of an export' : this.#problemOf(line)
    if (problem !== undefined) this.#fail(problem)
  }

  #takeDelivered(delivered: DeliveredTrail, text: string): void {
    this.#hasEnded = text === ''
    if (this.#hasEnded) return
    const taken = delivered.take(text, this.#line)
    if (typeof taken === 'object') this.#failure = { line: this.#line, ...taken }
    // A failed one counts as read, as in an export.
    if (taken !== false) this.#events++
    this.#vaultID = delivered.vaultID
  }

  /** Verifies the end of the export and the checkpoints, and returns the result. */
  end(): ExportVerificationResult {
    if (!this.isOver && !this.#hasEnded && this.#delivered === undefined) {
      this.#line++
      this.#fail('is missing: the export is truncated')
    }
    const checkpoints = [...this.#inside, ...this.#given]
    if (!this.isOver) for (const signed of checkpoints) this.#compare(signed)
    const firstFailure = this.#failure
    return {
      ok: firstFailure === undefined,
      eventCount: this.#events,
      checkpoints: firstFailure === undefined ? checkpoints.length : 0,
      ...(firstFailure === undefined ? {} : { firstFailure }),
    }
  }

  /** Verifies a parsed line. Returns what is wrong with it, as a clause; undefined if nothing is, or if the chain verification reports it. */
  #problemOf(line: ExportLine): string | undefined {
    switch (line.kind) {
      case 'header':
        return this.#takeHeader(line.vaultID)
      case 'head':
        return this.#takeHead(line.head)
      case 'checkpoint':
        return this.#takeCheckpoint(line.signed)
      case 'event':
        return this.#takeEvent(line.digest, line.bytes)
      case 'end':
        return this.#takeEnd(line.counts)
      case 'fault':
        return line.problem
      default:
        return unreachable(line)
    }
  }

  #takeHeader(vaultID: string): string | undefined {
    if (this.#line > 1) return 'is a second header'
    this.#vaultID = vaultID
    return undefined
  }

  #takeHead(head: TreeHead): string | undefined {
    const isInPlace = this.#inside.length === 0 && this.#check === undefined
    if (!isInPlace || head.chain <= (this.#heads.at(-1)?.chain ?? 0)) return 'is a head out of order'
    this.#heads.push(head)
    return undefined
  }

  #takeCheckpoint(signed: SignedCheckpoint): string | undefined {
    const before = this.#inside.at(-1)?.checkpoint.timestamp ?? ''
    if (this.#check !== undefined || signed.checkpoint.timestamp <= before) return 'is a checkpoint out of order'
    this.#inside.push(signed)
    return undefined
  }

  #takeEvent(digest: string, bytes: Uint8Array): string | undefined {
    this.#events++
    const found = this.#verifier().addExported(bytes)
    if (found === undefined) this.#endChains()
    return found === undefined || toHex(found) === digest ? undefined : 'has a digest that differs from its event'
  }

  #takeEnd({ heads, checkpoints, events }: ExportCounts): string | undefined {
    this.#hasEnded = true
    if (heads !== this.#heads.length || checkpoints !== this.#inside.length || events !== this.#events) {
      return 'has wrong line counts'
    }
    this.#endChains()
    return undefined
  }

  /** Returns the chain verification. It starts with the first event or the end line, when all heads and checkpoints are known. */
  #verifier(): ChainVerifier {
    this.#check ??= new ChainVerifier({
      hash: systemHash,
      vaultID: required(this.#vaultID, 'The header of an export'),
      heads: this.#heads,
      watchedPositions: positionsOf([...this.#inside, ...this.#given]),
    })
    return this.#check
  }

  #endChains(): void {
    const { firstFailure } = this.#verifier().end()
    if (firstFailure !== undefined) this.#failure ??= { line: this.#line, ...firstFailure }
  }

  #compare(signed: SignedCheckpoint): void {
    const { checkpoint } = signed
    if (this.#verifiers !== undefined && !isSigned(signed, this.#verifiers)) {
      this.#failure ??= { reason: `The checkpoint of ${checkpoint.timestamp} is not signed by one of the keys.` }
    }
    if (checkpoint.vaultID !== this.#vaultID) {
      this.#failure ??= { reason: `The checkpoint of ${checkpoint.timestamp} belongs to another vault.` }
    }
    const check = this.#delivered ?? this.#verifier()
    const divergence = findDivergence(checkpoint, systemHash, (chain, sequence) => check.treeHeadAt(chain, sequence))
    if (divergence !== undefined) this.#failure ??= divergence
  }

  #fail(problem: string): void {
    this.#failure ??= { line: this.#line, reason: `Line ${this.#line} ${problem}.` }
  }
}
