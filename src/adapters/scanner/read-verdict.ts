/** What the replies of clamd mean. */
import type { VaultError } from '../../core/errors.ts'
import type { ScanVerdict } from '../../core/ports/blobs.ts'
import { malformedReplyError, reportedError } from './scanner-errors.ts'

const FOUND = /^stream: ([\x20-\x7e]+) FOUND$/
const ERROR = /^[\x20-\x7e]* ERROR$/
const TOO_LONG = 'INSTREAM size limit exceeded. ERROR'

/** Names that clamd gives to files that it could not read to their end: too large, nested too deeply, or encrypted. */
const NOT_READ = /^Heuristics\.(?:Limits\.Exceeded|Encrypted)\b/

/** Returns the verdict of a reply, without its final zero byte. Any reply that is not of the protocol or that reports an error is an error. */
export function readVerdict(reply: string): ScanVerdict | VaultError {
  if (reply === 'stream: OK') return 'clean'
  if (reply === TOO_LONG) return 'unscannable'
  const name = FOUND.exec(reply)?.[1]
  if (name !== undefined) return NOT_READ.test(name) ? 'unscannable' : 'infected'
  return ERROR.test(reply) ? reportedError() : malformedReplyError()
}
