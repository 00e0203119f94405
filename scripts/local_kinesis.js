// Kinesalite, a server with the protocol of Kinesis, with what it lacks beside the service:
//
// * AT_TIMESTAMP behind the last record is the end of the shard;
// * ListShards brings a thousand at once, and a token for the next ones;
// * with "reads", so many GetRecords a second for a shard, as the service allows 5;
// * with "iteratorMs", iterators that run out after so long, as those of the service do after 5 minutes.
//
// node local_kinesis.js FOLDER_OF_MODULES '{"port": 4567, "path": "...", "reads": 0, "iteratorMs": 0}'
'use strict'
const path = require('path')

const home = path.join(process.argv[2], 'kinesalite')
const options = JSON.parse(process.argv[3])
const db = require(path.join(home, 'db'))
const iteratorFile = path.join(home, 'actions', 'getShardIterator.js')
const recordsFile = path.join(home, 'actions', 'getRecords.js')
const shardsFile = path.join(home, 'actions', 'listShards.js')
const findIterator = require(iteratorFile)
const listShards = require(shardsFile)
const readRecords = require(recordsFile)
const reads = new Map()

function atTime(store, data, done) {
  store.getStream(data.StreamName, (error) => {
    if (error) return done(error)
    const shard = parseInt(data.ShardId.split('-')[1])
    const range = { gt: db.shardIxToHex(shard), lt: db.shardIxToHex(shard + 1) }
    let found = null
    const items = store.getStreamDb(data.StreamName).createReadStream(range)
    items.on('error', done)
    items.on('data', (item) => {
      if (found === null && item.value.ApproximateArrivalTimestamp >= data.Timestamp) found = item
    })
    items.on('end', () => {
      if (found !== null || data.Timestamp * 1000 > Date.now()) return findIterator(store, data, done)
      findIterator(store, { ...data, ShardIteratorType: 'LATEST', Timestamp: undefined }, done)
    })
  })
}

require.cache[iteratorFile].exports = (store, data, done) =>
  (data.ShardIteratorType === 'AT_TIMESTAMP' ? atTime : findIterator)(store, data, done)

function facts(iterator) {
  const crypto = require('crypto')
  const decipher = crypto.createDecipheriv('aes-256-cbc', db.ITERATOR_PWD_KEY, db.ITERATOR_PWD_IV)
  const text = Buffer.concat([decipher.update(Buffer.from(iterator, 'base64').slice(8)), decipher.final()])
  const [made, stream, shard] = text.toString('utf8').split('/')
  return { made: +made, shard: `${stream}/${shard}` }
}

require.cache[recordsFile].exports = (store, data, done) => {
  const { made, shard } = facts(data.ShardIterator)
  const now = Date.now()
  if (options.iteratorMs && now - made > options.iteratorMs) {
    return done(db.clientError('ExpiredIteratorException', 'Iterator expired.'))
  }
  const recent = (reads.get(shard) || []).filter((each) => now - each < 1000)
  if (options.reads && recent.length >= options.reads) {
    const message = `Rate exceeded for shard ${shard}.`
    return done(db.clientError('ProvisionedThroughputExceededException', message))
  }
  reads.set(shard, [...recent, now])
  readRecords(store, data, done)
}

require.cache[shardsFile].exports = (store, data, done) => {
  const [stream, after] = data.NextToken ? data.NextToken.split('/') : [data.StreamName, data.ExclusiveStartShardId]
  listShards(store, { StreamName: stream, ExclusiveStartShardId: after }, (error, answer) => {
    if (error) return done(error)
    const shards = answer.Shards.slice(0, data.MaxResults || 1000)
    const isWhole = shards.length === answer.Shards.length
    done(null, isWhole ? { Shards: shards } : { Shards: shards, NextToken: `${stream}/${shards.at(-1).ShardId}` })
  })
}

const server = require(home)(options)
server.listen(options.port, '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
