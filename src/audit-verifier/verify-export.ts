/** Checks an exported audit trail without the vault, its keys or its storage: event by event, in flat memory. */
import { systemHash } from '../adapters/system/system-hash.ts'
import type { LaneMark } from '../core/audit/chain-check.ts'
import { ChainCheck } from '../core/audit/chain-check.ts'
import type { SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { departureFrom, placesOf } from '../core/audit/checkpoint.ts'
import type { ExportCounts } from '../core/audit/export-lines.ts'
import { VaultError } from '../core/errors.ts'
import type { SignatureVerifier } from '../core/ports/signer.ts'
import { unreachable } from '../core/util/unreachable.ts'
import type { ExportLine } from './export-reader.ts'
import { readExportLine } from './export-reader.ts'
import type { VerifierKey } from './public-keys.ts'
import { createVerifiers, isSigned } from './public-keys.ts'

/** What an export is checked against. */
export interface VerifyOptions {
  /** Checkpoints kept elsewhere. Without one, nobody can tell a trail whose end was cut off, or that was written anew from some place on. */
  readonly checkpoints?: readonly SignedCheckpoint[]
  /** Public keys every checkpoint, given or in the export, must be signed by one of; without them signatures are not looked at. */
  readonly keys?: readonly VerifierKey[]
}

/** Where an export is not as it was written. */
export interface ExportBreak {
  /** Line of the export, from 1; absent where a checkpoint given beside it tells. */
  readonly line?: number
  readonly lane?: number
  readonly sequence?: number
  readonly changeID?: string
  readonly what: string
}

/** What came out. */
export interface Verdict {
  readonly ok: boolean
  readonly events: number
  /** Checkpoints the trail agrees with. */
  readonly checkpoints: number
  readonly firstBroken?: ExportBreak
}

/** Checks the lines of an export. Throws `invalid_request` for keys that are none; whatever is wrong with the lines is answered. */
export async function verifyExport(
  lines: AsyncIterable<string> | Iterable<string>,
  { checkpoints = [], keys }: VerifyOptions = {},
): Promise<Verdict> {
  if (typeof lines === 'string') {
    throw new VaultError('invalid_request', 'verifyExport takes the lines of an export, not its text. Split it at line ends.')
  }
  const verification = new Verification(checkpoints, keys === undefined ? undefined : createVerifiers(keys))
  for await (const line of lines) {
    verification.take(line)
    if (verification.isOver) break
  }
  return verification.end()
}

/** One export being checked. */
class Verification {
  readonly #given: readonly SignedCheckpoint[]
  readonly #verifiers: readonly SignatureVerifier[] | undefined
  readonly #heads: LaneMark[] = []
  readonly #inside: SignedCheckpoint[] = []
  #vaultID: string | undefined
  #check: ChainCheck | undefined
  #events = 0
  #line = 0
  #hasEnded = false
  #broken: ExportBreak | undefined

  constructor(given: readonly SignedCheckpoint[], verifiers: readonly SignatureVerifier[] | undefined) {
    this.#given = given
    this.#verifiers = verifiers
  }

  /** True once a break was found: what comes behind it follows from it. */
  get isOver(): boolean {
    return this.#broken !== undefined
  }

  take(text: string): void {
    this.#line++
    if (this.#hasEnded) {
      // A file that ends with a line end is often read as having an empty line more.
      if (text !== '') this.#break('stands behind the end')
      return
    }
    const line = readExportLine(text)
    const fault = this.#line === 1 && line.kind !== 'header' ? 'is not the header of an export' : this.#faultOf(line)
    if (fault !== undefined) this.#break(fault)
  }

  end(): Verdict {
    if (!this.isOver && !this.#hasEnded) {
      this.#line++
      this.#break('is missing: the export was cut off')
    }
    const checkpoints = [...this.#inside, ...this.#given]
    if (!this.isOver) for (const signed of checkpoints) this.#compare(signed)
    const firstBroken = this.#broken
    return {
      ok: firstBroken === undefined,
      events: this.#events,
      checkpoints: firstBroken === undefined ? checkpoints.length : 0,
      ...(firstBroken === undefined ? {} : { firstBroken }),
    }
  }

  /** Takes a line in; answers what is wrong with it, unless that is the chain's to say. */
  #faultOf(line: ExportLine): string | undefined {
    switch (line.kind) {
      case 'header':
        return this.#takeHeader(line.vaultID)
      case 'head':
        return this.#takeHead(line.mark)
      case 'checkpoint':
        return this.#takeCheckpoint(line.signed)
      case 'event':
        return this.#takeEvent(line.digest, line.bytes)
      case 'end':
        return this.#takeEnd(line.counts)
      case 'fault':
        return line.fault
      default:
        return unreachable(line)
    }
  }

  #takeHeader(vaultID: string): string | undefined {
    if (this.#line > 1) return 'is a second header'
    this.#vaultID = vaultID
    return undefined
  }

  #takeHead(mark: LaneMark): string | undefined {
    const isInPlace = this.#inside.length === 0 && this.#check === undefined
    if (!isInPlace || mark.lane <= (this.#heads.at(-1)?.lane ?? 0)) return 'is a head out of order'
    this.#heads.push(mark)
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
    const found = this.#started().addExported(bytes)
    if (found === undefined) this.#breakChain()
    return found === undefined || found === digest ? undefined : 'has a digest that is not its event’s'
  }

  #takeEnd({ heads, checkpoints, events }: ExportCounts): string | undefined {
    this.#hasEnded = true
    if (heads !== this.#heads.length || checkpoints !== this.#inside.length || events !== this.#events) {
      return 'counts other lines than there are'
    }
    this.#breakChain()
    return undefined
  }

  /** The check of the chains begins with the first event, or the end: heads and checkpoints are known by then. */
  #started(): ChainCheck {
    this.#check ??= new ChainCheck({
      hash: systemHash,
      vaultID: this.#vaultID ?? '',
      heads: this.#heads,
      watched: placesOf([...this.#inside, ...this.#given]),
    })
    return this.#check
  }

  #breakChain(): void {
    const { firstBroken } = this.#started().end()
    if (firstBroken !== undefined) this.#broken ??= { line: this.#line, ...firstBroken }
  }

  #compare(signed: SignedCheckpoint): void {
    const { checkpoint } = signed
    if (this.#verifiers !== undefined && !isSigned(signed, this.#verifiers)) {
      this.#broken ??= { what: `The checkpoint of ${checkpoint.timestamp} is not signed by any of the keys.` }
    }
    if (checkpoint.vaultID !== this.#vaultID) {
      this.#broken ??= { what: `The checkpoint of ${checkpoint.timestamp} is of another vault.` }
    }
    const check = this.#started()
    const departure = departureFrom(checkpoint, systemHash, (lane, sequence) => check.markAt(lane, sequence))
    if (departure !== undefined) this.#broken ??= departure
  }

  #break(fault: string): void {
    this.#broken ??= { line: this.#line, what: `Line ${this.#line} ${fault}.` }
  }
}
