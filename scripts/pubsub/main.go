// A server of Pub/Sub in memory, Google's own for tests. The second address, by
// /unacknowledged?topic=... answers how many of its messages nobody has acknowledged.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	server := pstest.NewServer()
	http.HandleFunc("/unacknowledged", func(answer http.ResponseWriter, question *http.Request) {
		count := 0
		topic := question.FormValue("topic")
		for _, message := range server.Messages() {
			if message.Topic == topic && message.Acks == 0 {
				count++
			}
		}
		fmt.Fprint(answer, count)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	// Renamed when it is whole: who waits for the file never reads half of it.
	addresses := fmt.Sprintf("%s %s", server.Addr, listener.Addr())
	if err := os.WriteFile("addresses.new", []byte(addresses), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename("addresses.new", "addresses"); err != nil {
		panic(err)
	}
	panic(http.Serve(listener, nil))
}
