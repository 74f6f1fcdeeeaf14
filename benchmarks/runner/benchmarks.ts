/** All benchmarks, in the order of the table. */
import { alternativesBenchmark } from '../suites/alternatives-benchmark.ts'
import { auditBenchmark } from '../suites/audit-benchmark.ts'
import { auditedReadBenchmark } from '../suites/audited-read-benchmark.ts'
import { batchBenchmark } from '../suites/batch-benchmark.ts'
import { blobsBenchmark } from '../suites/blobs-benchmark.ts'
import { contentionBenchmark } from '../suites/contention-benchmark.ts'
import { cryptographyBenchmark } from '../suites/cryptography-benchmark.ts'
import { detokenizeBenchmark } from '../suites/detokenize-benchmark.ts'
import { diskBenchmark } from '../suites/disk-benchmark.ts'
import { filesBenchmark } from '../suites/files-benchmark.ts'
import { forgetBenchmark } from '../suites/forget-benchmark.ts'
import { getBenchmark } from '../suites/get-benchmark.ts'
import { growthBenchmark } from '../suites/growth-benchmark.ts'
import { httpBenchmark } from '../suites/http-benchmark.ts'
import { insertBenchmark } from '../suites/insert-benchmark.ts'
import { insertConcurrentBenchmark } from '../suites/insert-concurrent-benchmark.ts'
import { insertIndexedBenchmark } from '../suites/insert-indexed-benchmark.ts'
import { insertUniqueBenchmark } from '../suites/insert-unique-benchmark.ts'
import { memoryBenchmark } from '../suites/memory-benchmark.ts'
import { openingBenchmark } from '../suites/opening-benchmark.ts'
import { queryBenchmark } from '../suites/query-benchmark.ts'
import { rotationBenchmark } from '../suites/rotation-benchmark.ts'
import { sealedIndexBenchmark } from '../suites/sealed-index-benchmark.ts'
import { subjectKeysBenchmark } from '../suites/subject-keys-benchmark.ts'
import { tokensBenchmark } from '../suites/tokens-benchmark.ts'
import type { Benchmark } from './run-config.ts'

export const BENCHMARKS: readonly Benchmark[] = [
  insertBenchmark,
  insertUniqueBenchmark,
  insertConcurrentBenchmark,
  insertIndexedBenchmark,
  contentionBenchmark,
  batchBenchmark,
  getBenchmark,
  detokenizeBenchmark,
  auditBenchmark,
  auditedReadBenchmark,
  queryBenchmark,
  sealedIndexBenchmark,
  tokensBenchmark,
  cryptographyBenchmark,
  diskBenchmark,
  memoryBenchmark,
  alternativesBenchmark,
  blobsBenchmark,
  filesBenchmark,
  growthBenchmark,
  openingBenchmark,
  rotationBenchmark,
  forgetBenchmark,
  subjectKeysBenchmark,
  httpBenchmark,
]
