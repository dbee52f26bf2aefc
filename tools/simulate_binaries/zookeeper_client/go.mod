module github.com/samuel/go-zookeeper

go 1.13
